// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	secretGet = rules.Rule{
		ID: "NA-SECRET-1",
		Description: "A node may get a secret only if a pod bound to it uses the secret, itself or through a persistent " +
			"volume, and may never write one.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	}
	secretList = rules.Rule{
		ID: "NA-SECRET-2",
		Description: "A node may list and watch one secret by name, and only one that its pods use; never the secrets of a " +
			"namespace.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	}
	configMapGet = rules.Rule{
		ID:          "NA-CM-1",
		Description: "A node may get a config map only if a pod bound to it uses the config map, and may never write one.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	}
	configMapList = rules.Rule{
		ID: "NA-CM-2",
		Description: "A node may list and watch one config map by name, and only one that its pods use; never the config " +
			"maps of a namespace.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeReadNamespacedObject",
	}
	resourceClaimGet = rules.Rule{
		ID: "NA-CLAIM-1",
		Description: "A node may get a resource claim only if a pod bound to it uses the claim, and may do nothing else to " +
			"claims.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	}
	volumeAttachmentGet = rules.Rule{
		ID: "NA-VA-1",
		Description: "A node may get a volume attachment only if it attaches to that node, and may do nothing else to " +
			"attachments.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	}
)

const (
	onlyRead            = "can only read resources of this type"
	noReadOfSubresource = "cannot read subresource"
	onlyNamespaced      = "can only read namespaced object of this type"
	onlyGet             = "can only get individual resources of this type"
	noGetOfSubresource  = "cannot get subresource"
)

func (z *Authorizer) authorizeSecret(ctx context.Context, node string, a *request) rules.Decision {
	if isListOrWatch(a) {
		return unwatched(secretUnwatched, z.optional.secretWatch, z.readNamespaced(ctx, secretList, node, graph.Secret, a))
	}
	return z.readNamespaced(ctx, secretGet, node, graph.Secret, a)
}

// authorizeConfigMap also handles three config maps that kubeadm reads as a node, although no pod
// on the node uses them.
func (z *Authorizer) authorizeConfigMap(ctx context.Context, node string, a *request) rules.Decision {
	r := configMapGet
	if isListOrWatch(a) {
		r = configMapList
	}
	v := z.readNamespaced(ctx, r, node, graph.ConfigMap, a)
	if r == configMapList {
		v = unwatched(configMapUnwatched, z.optional.configMapWatch, v)
	}
	switch {
	case against(v) == "" || !isKubeadmConfigMap(a):
		return v
	case v.Effect == rules.Deny:
		return authorizeKubeadmConfigMap(a, v)
	case a.Verb == "get":
		// If the optional rule were enforced, it would not deny this request but leave it to the
		// next authorizers. So there is no finding.
		return allow(r)
	}
	return v
}

func (z *Authorizer) authorizeResourceClaim(ctx context.Context, node string, a *request) rules.Decision {
	return z.get(ctx, resourceClaimGet, node, graph.ResourceClaim, a)
}

func (z *Authorizer) authorizeVolumeAttachment(ctx context.Context, node string, a *request) rules.Decision {
	return z.get(ctx, volumeAttachmentGet, node, graph.VolumeAttachment, a)
}

// readNamespaced allows get, list and watch of one related object. For list and watch, the API
// server takes the name from the field selector metadata.name=….
func (z *Authorizer) readNamespaced(ctx context.Context, r rules.Rule, node string, kind graph.Kind,
	a *request) rules.Decision {
	if a.Verb != "get" && !isListOrWatch(a) {
		return deny(r, onlyRead)
	}
	if a.Subresource != "" {
		return deny(r, noReadOfSubresource)
	}
	if a.Namespace == "" {
		return deny(r, onlyNamespaced)
	}
	return z.related(ctx, r, node, kind, a)
}

// get allows the verb get on one related object.
func (z *Authorizer) get(ctx context.Context, r rules.Rule, node string, kind graph.Kind, a *request) rules.Decision {
	if a.Verb != "get" {
		return deny(r, onlyGet)
	}
	if a.Subresource != "" {
		return deny(r, noGetOfSubresource)
	}
	return z.related(ctx, r, node, kind, a)
}

func isListOrWatch(a *request) bool {
	return a.Verb == "list" || a.Verb == "watch"
}

// selectsNode reports whether the field selector spec.nodeName=<node> limits a request to the
// objects of one node. Requirements are ANDed, so one match is enough. Requirements that could not
// be parsed could only limit the request further.
func selectsNode(node string, a *request) bool {
	for i := range a.FieldSelectorRequirements {
		r := &a.FieldSelectorRequirements[i]
		if r.Field == "spec.nodeName" && r.Operator == selection.Equals && r.Value == node {
			return true
		}
	}
	return false
}
