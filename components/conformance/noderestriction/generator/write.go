// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// Write is one request. It has the new object as the client sent it, and the old object as stored,
// in one version of the API.
type Write struct {
	User            user.Info
	Operation       admission.Operation
	Resource        schema.GroupVersionResource
	Subresource     string
	Namespace, Name string
	Object, Old     runtime.Object
	DryRun          bool
	// Defaulted makes the API server set the defaults of the object, as it always does. Without
	// defaults, there are more forms to test.
	Defaulted bool
}

// Clone copies everything in a write that may change.
func (w *Write) Clone() *Write {
	clone := *w
	clone.Object, clone.Old = copied(w.Object), copied(w.Old)
	return &clone
}

func copied(o runtime.Object) runtime.Object {
	if o == nil {
		return nil
	}
	return o.DeepCopyObject()
}

// Kind is the kind of the object, for attributes.
func (w *Write) Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.Resource.Group, Version: w.Resource.Version, Kind: w.Resource.Resource}
}

// The users that write.
var (
	nodeGroups = []string{user.NodesGroup, user.AllAuthenticated}
	others     = []user.Info{
		nil,
		&user.DefaultInfo{},
		&user.DefaultInfo{Name: "system:node:n1", Groups: []string{user.AllAuthenticated}},
		&user.DefaultInfo{Name: "system:node:n1"},
		&user.DefaultInfo{Name: "n1", Groups: nodeGroups},
		&user.DefaultInfo{Name: "system:nodes:n1", Groups: nodeGroups},
		&user.DefaultInfo{Name: "system:node:n1", Groups: []string{"system:node"}},
		&user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}},
		&user.DefaultInfo{
			Name:   "system:serviceaccount:kube-system:default",
			Groups: []string{"system:serviceaccounts"},
		},
		&user.DefaultInfo{Name: "system:bootstrap:abc", Groups: []string{"system:bootstrappers"}},
	}
)

func asNode(name string) user.Info {
	return &user.DefaultInfo{Name: "system:node:" + name, UID: "u", Groups: nodeGroups}
}

func (m *Generator) user() user.Info {
	switch m.IntN(16) {
	case 0:
		return harness.Pick(m.RNG, others)
	case 1:
		return asNode(m.nodeName())
	case 2, 3:
		return asNode("n2")
	default:
		return asNode("n1")
	}
}

// Write returns a random write. Usually there are rules for its kind, and it may contain a mistake.
func (m *Generator) Write() *Write {
	w := &Write{User: m.user(), Defaulted: !m.OneIn(8), DryRun: m.OneIn(16)}
	harness.Pick(m.RNG, families)(m, w)
	switch m.IntN(16) {
	case 0, 1:
		m.change(w)
	case 2:
		m.misaddress(w)
	}
	if m.OneIn(64) {
		m.mistype(w)
	}
	return w
}

// families create writes of one kind. The most frequent kinds, and those with the most rules, occur
// more often.
var families = []func(*Generator, *Write){
	(*Generator).createPod,
	(*Generator).createPod,
	(*Generator).createPod,
	(*Generator).deletePod,
	(*Generator).updatePodStatus,
	(*Generator).updatePodStatus,
	(*Generator).updatePodStatus,
	(*Generator).evict,
	(*Generator).otherPod,
	(*Generator).createNode,
	(*Generator).updateNode,
	(*Generator).updateNode,
	(*Generator).otherNode,
	(*Generator).updateClaimStatus,
	(*Generator).updateClaimStatus,
	(*Generator).otherClaim,
	(*Generator).requestToken,
	(*Generator).requestToken,
	(*Generator).requestToken,
	(*Generator).otherAccount,
	(*Generator).requestPodCertificate,
	(*Generator).requestPodCertificate,
	(*Generator).otherPodCertificate,
	(*Generator).writeLease,
	(*Generator).writeCSINode,
	(*Generator).updateCSINodeStatus,
	(*Generator).writeSlice,
	(*Generator).requestCertificate,
	(*Generator).otherCertificate,
	(*Generator).writeEvent,
	(*Generator).writeUnrelated,
}

// node returns the name of the node that writes, if the generator knows it.
func (w *Write) node() string {
	if w.User == nil || len(w.User.GetName()) < len("system:node:") {
		return ""
	}
	return w.User.GetName()[len("system:node:"):]
}

// change changes the object in the request, but not in the cluster.
func (m *Generator) change(w *Write) {
	for _, o := range []*runtime.Object{&w.Object, &w.Old} {
		if *o != nil && m.OneIn(2) {
			*o = copied(*o)
			m.Mutate(*o)
		}
	}
}

// misaddress makes the request differ from its object.
func (m *Generator) misaddress(w *Write) {
	switch m.IntN(5) {
	case 0:
		w.Name = harness.Pick(m.RNG, []string{"", "n1", "n2", "a", "b", "gone"})
	case 1:
		w.Namespace = harness.Pick(m.RNG, []string{"", "ns1", "ns2", "kube-system", "kube-node-lease", "gone"})
	case 2:
		w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Create, admission.Update, admission.Delete})
	case 3:
		w.Subresource = harness.Pick(
			m.RNG,
			[]string{"", "status", "eviction", "token", "approval", "scale", "binding", "x"},
		)
	default:
		w.Resource.Group = harness.Pick(m.RNG, []string{"", "apps", "metrics.k8s.io", "certificates.k8s.io"})
	}
}

// mistype sends an object of another kind, or none.
func (m *Generator) mistype(w *Write) {
	wrong := []runtime.Object{nil, m.node(w.node()), m.pod("ns1", w.node()), lease("ns1", w.node())}
	if m.OneIn(2) {
		w.Object = harness.Pick(m.RNG, wrong)
	} else {
		w.Old = harness.Pick(m.RNG, wrong)
	}
}

func (w *Write) at(group, version, resource, subresource string) {
	w.Resource, w.Subresource = schema.GroupVersionResource{
		Group:    group,
		Version:  version,
		Resource: resource,
	}, subresource
}

func (w *Write) to(namespace, name string) { w.Namespace, w.Name = namespace, name }
