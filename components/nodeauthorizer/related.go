// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	secretGet = promise(rules.Rule{
		ID:      "NA-SECRET-1",
		Promise: "A node may get a secret only if a pod bound to it uses the secret, itself or through a persistent volume, and may never write one.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	})
	secretList = promise(rules.Rule{
		ID:      "NA-SECRET-2",
		Promise: "A node may list and watch one secret by name, and only one that its pods use; never the secrets of a namespace.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	})
	configMapGet = promise(rules.Rule{
		ID:      "NA-CM-1",
		Promise: "A node may get a config map only if a pod bound to it uses the config map, and may never write one.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	})
	configMapList = promise(rules.Rule{
		ID:      "NA-CM-2",
		Promise: "A node may list and watch one config map by name, and only one that its pods use; never the config maps of a namespace.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	})
	resourceClaimGet = promise(rules.Rule{
		ID:      "NA-CLAIM-1",
		Promise: "A node may get a resource claim only if a pod bound to it uses the claim, and may do nothing else to claims.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	})
	volumeAttachmentGet = promise(rules.Rule{
		ID:      "NA-VA-1",
		Promise: "A node may get a volume attachment only if it attaches to that node, and may do nothing else to attachments.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	})
)

func (z *Authorizer) authorizeSecret(node string, a authorizer.Attributes) verdict {
	r := secretGet
	if isListOrWatch(a) {
		r = secretList
	}
	return z.readNamespaced(r, node, graph.Secret, a)
}

// authorizeConfigMap knows three config maps that kubeadm reads as a node
// without a pod that uses them.
func (z *Authorizer) authorizeConfigMap(node string, a authorizer.Attributes) verdict {
	r := configMapGet
	if isListOrWatch(a) {
		r = configMapList
	}
	v := z.readNamespaced(r, node, graph.ConfigMap, a)
	if v.effect == refused && isKubeadmConfigMap(a) {
		return authorizeKubeadmConfigMap(a, v)
	}
	return v
}

func (z *Authorizer) authorizeResourceClaim(node string, a authorizer.Attributes) verdict {
	return z.get(resourceClaimGet, node, graph.ResourceClaim, a)
}

func (z *Authorizer) authorizeVolumeAttachment(node string, a authorizer.Attributes) verdict {
	return z.get(volumeAttachmentGet, node, graph.VolumeAttachment, a)
}

// readNamespaced allows to get, list and watch one related object. For list
// and watch the API server takes the name from the field selector
// metadata.name=….
func (z *Authorizer) readNamespaced(r *rule, node string, kind graph.Kind, a authorizer.Attributes) verdict {
	if a.GetVerb() != "get" && !isListOrWatch(a) {
		return refuse(r, "can only read resources of this type")
	}
	if a.GetSubresource() != "" {
		return refuse(r, "cannot read subresource")
	}
	if a.GetNamespace() == "" {
		return refuse(r, "can only read namespaced object of this type")
	}
	return z.related(r, node, kind, a)
}

// get allows to get one related object.
func (z *Authorizer) get(r *rule, node string, kind graph.Kind, a authorizer.Attributes) verdict {
	if a.GetVerb() != "get" {
		return refuse(r, "can only get individual resources of this type")
	}
	if a.GetSubresource() != "" {
		return refuse(r, "cannot get subresource")
	}
	return z.related(r, node, kind, a)
}

// related allows what is related to the node.
func (z *Authorizer) related(r *rule, node string, kind graph.Kind, a authorizer.Attributes) verdict {
	if a.GetName() == "" {
		return refuse(r, "No Object name found")
	}
	if !z.relations.Reaches(node, kind, a.GetNamespace(), a.GetName()) {
		return refuse(r, fmt.Sprintf("no relationship found between node '%s' and this object", node))
	}
	return allow(r)
}

func isListOrWatch(a authorizer.Attributes) bool {
	return a.GetVerb() == "list" || a.GetVerb() == "watch"
}

// selectsNode reports whether a request is held to the objects of one node by
// the field selector spec.nodeName=<node>. Requirements are ANDed, so one that
// matches is enough, and those that did not parse could only narrow it further.
func selectsNode(node string, a authorizer.Attributes) bool {
	requirements, _ := a.GetFieldSelector()
	for i := range requirements {
		r := &requirements[i]
		if r.Field == "spec.nodeName" && r.Operator == selection.Equals && r.Value == node {
			return true
		}
	}
	return false
}
