// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// nothing is a write whose object is a nil pointer of the right type.
type nothing struct {
	resource, subresource, namespace string
	object                           runtime.Object
}

func nothings() []nothing {
	return []nothing{
		{"pods", "", "default", (*corev1.Pod)(nil)},
		{"pods", "status", "default", (*corev1.Pod)(nil)},
		{"pods", "eviction", "default", (*policyv1.Eviction)(nil)},
		{"nodes", "", "", (*corev1.Node)(nil)},
		{"nodes", "status", "", (*corev1.Node)(nil)},
		{"persistentvolumeclaims", "status", "default", (*corev1.PersistentVolumeClaim)(nil)},
		{"serviceaccounts", "token", "default", (*authenticationv1.TokenRequest)(nil)},
		{"events", "", "default", (*corev1.Event)(nil)},
		{"events.events.k8s.io", "", "default", (*eventsv1.Event)(nil)},
		{"leases", "", "kube-node-lease", (*coordinationv1.Lease)(nil)},
		{"csinodes", "", "", (*storagev1.CSINode)(nil)},
		{"csinodes", "status", "", (*storagev1.CSINode)(nil)},
		{"resourceslices", "", "", (*resourcev1.ResourceSlice)(nil)},
		{"podcertificaterequests", "", "default", (*certificatesv1.PodCertificateRequest)(nil)},
		{"certificatesigningrequests", "", "", (*certificatesv1.CertificateSigningRequest)(nil)},
	}
}

// TestRulesApplyOnlyToNodes makes writes that every node is denied, as users who are not nodes.
func TestRulesApplyOnlyToNodes(t *testing.T) {
	remove := func(name string, groups ...string) admission.Attributes {
		return write("me", admission.Delete, "nodes", "", nil, aNode("other"),
			as(&user.DefaultInfo{Name: name, Groups: groups}))
	}
	says := `nodes "other" is forbidden: node "me" is not allowed to modify node "other" [NR-NODE-1]`
	run(t, restrict(aCluster()), []row{
		{name: "node user: denied", write: remove("system:node:me", "system:nodes"), by: "NR-NODE-1", says: says},
		{name: "node name without the group: no rule", write: remove("system:node:me", "system:authenticated")},
		{name: "group without a node name: no rule", write: remove("admin", "system:nodes")},
		{name: "no user: no rule", write: write("me", admission.Delete, "nodes", "", nil, aNode("other"), as(nil))},
	})
}

func TestNodeUserNeedsANodeName(t *testing.T) {
	says := `could not determine node from user "system:node:" [NR-IDENT-1]`
	run(t, restrict(aCluster()), []row{
		{
			name: "node user without a node name, update lease: denied", by: "NR-IDENT-1",
			write: write("", admission.Update, "leases", "", aLease("kube-node-lease", "me"), aLease("kube-node-lease", "me")),
			says:  `leases.coordination.k8s.io "me" is forbidden: ` + says,
		},
		{
			name: "node user without a node name, lease with an empty name: denied", by: "NR-IDENT-1",
			write: write("", admission.Update, "leases", "", aLease("kube-node-lease", ""), aLease("kube-node-lease", "")),
			says:  `leases.coordination.k8s.io "Unknown" is forbidden: ` + says,
		},
		{
			name:  "node user with a node name, update lease: allowed",
			write: write("me", admission.Update, "leases", "", aLease("kube-node-lease", "me"), aLease("kube-node-lease", "me")),
		},
	})
}

func TestOtherResourcesHaveNoRule(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
	run(t, restrict(aCluster()), []row{
		{name: "node user without a node name, secret: no rule",
			write: write("me", admission.Update, "secrets", "", secret, secret)},
	})
}

// TestNilPointerIsDeniedLikeAMissingObject checks all resources: a nil pointer is denied in the same way as a
// missing object.
func TestNilPointerIsDeniedLikeAMissingObject(t *testing.T) {
	r := restrict(aCluster())
	for _, tc := range nothings() {
		for _, op := range []admission.Operation{admission.Create, admission.Update, admission.Delete} {
			for _, name := range []string{"", "me"} {
				a := write("me", op, tc.resource, tc.subresource, tc.object, tc.object, in(tc.namespace), named(name))
				bare := write("me", op, tc.resource, tc.subresource, nil, nil, in(tc.namespace), named(name))
				got, want := r.Review(t.Context(), a), r.Review(t.Context(), bare)
				if got.Rule != want.Rule {
					t.Errorf("%s of %s/%s %q: refused by %q with a nil pointer and by %q with nothing", op, tc.resource,
						tc.subresource, name, got.Rule, want.Rule)
				}
			}
		}
	}
}
