// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// object is one that a node may read only if it is related to the node.
type object struct {
	graph.Reference
	kind sort
}

// sort says how an object is related to a node.
type sort int

const (
	// kindOfPods: pods use the object.
	kindOfPods sort = iota
	// kindOfSecrets: pods and persistent volumes use it.
	kindOfSecrets
	// kindOfVolumes: pods use its claim.
	kindOfVolumes
	// kindOfNodes: the object itself names its node.
	kindOfNodes
)

// related are the resources whose objects are related to nodes, without a subresource.
var related = map[string]object{
	"secrets":                {graph.Reference{Kind: graph.Secret}, kindOfSecrets},
	"configmaps":             {graph.Reference{Kind: graph.ConfigMap}, kindOfPods},
	"serviceaccounts":        {graph.Reference{Kind: graph.ServiceAccount}, kindOfPods},
	"persistentvolumeclaims": {graph.Reference{Kind: graph.PersistentVolumeClaim}, kindOfPods},
	"persistentvolumes":      {graph.Reference{Kind: graph.PersistentVolume}, kindOfVolumes},
	"pods":                   {graph.Reference{Kind: graph.Pod}, kindOfNodes},

	"resourceclaims.resource.k8s.io":             {graph.Reference{Kind: graph.ResourceClaim}, kindOfPods},
	"resourceslices.resource.k8s.io":             {graph.Reference{Kind: graph.ResourceSlice}, kindOfNodes},
	"volumeattachments.storage.k8s.io":           {graph.Reference{Kind: graph.VolumeAttachment}, kindOfNodes},
	"podcertificaterequests.certificates.k8s.io": {graph.Reference{Kind: graph.PodCertificateRequest}, kindOfNodes},
	"certificatesigningrequests.certificates.k8s.io": {
		graph.Reference{Kind: graph.CertificateSigningRequest}, kindOfNodes},
}

// objectOf returns the object of a request whose decision depends on a relation.
func objectOf(r *Request) (object, bool) {
	resource := strings.TrimSuffix(r.Resource+"."+r.Group, ".")
	o, known := related[resource]
	if !known || r.Name == "" || r.Verb == "create" && r.Subresource != "token" {
		return object{}, false
	}
	switch r.Subresource {
	case "":
	case "token":
		o.Kind = graph.ServiceAccountToken
	case "status":
		if o.Kind != graph.PersistentVolumeClaim {
			return object{}, false
		}
	default:
		return object{}, false
	}
	o.Namespace, o.Name = r.Namespace, r.Name
	return o, true
}

// pointed is the reference of the pods: they refer to the account, not to its tokens.
func (o object) pointed() graph.Reference {
	if o.Kind == graph.ServiceAccountToken {
		return graph.Reference{Kind: graph.ServiceAccount, Namespace: o.Namespace, Name: o.Name}
	}
	return o.Reference
}

// String returns the object as in a path: secret default/tls.
func (o object) String() string { return nameOf(o.pointed()) }

func nameOf(r graph.Reference) string {
	return webhook.Loggable(r.Kind.String() + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
}

// missing are the texts of a denial for want of a relation.
var missing = []string{"no relationship found between node '", "' is related to this object only through "}

// relationMissing reports whether the decision was about the relation.
func relationMissing(by []rules.ID, reason string) bool {
	reason = onOneLine(reason)
	return len(by) > 0 && slices.ContainsFunc(missing, func(text string) bool { return strings.Contains(reason, text) })
}
