// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"maps"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// fuzzed returns an object of the kind with that number, or nil.
func fuzzed(kind uint8, namespace, name, node, key string) runtime.Object {
	objectMeta := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name + "-uid"),
		Labels: map[string]string{key: name}, Annotations: map[string]string{key: name}}
	switch kind % 20 {
	case 0:
		return nil
	case 1:
		return nothings()[int(kind/20)%len(nothings())].object
	case 2:
		return aPod(namespace, name, node, func(p *corev1.Pod) { p.Labels = objectMeta.Labels })
	case 3:
		return aMirrorPod(node, func(p *corev1.Pod) {
			p.Namespace, p.Name, p.Labels, p.Spec.ServiceAccountName = namespace, name, objectMeta.Labels, key
		})
	case 4:
		return aMirrorPod(node, owned(func(o *metav1.OwnerReference) { o.Name, o.UID = name, types.UID(key) }))
	case 5:
		return aMirrorPod(node)
	case 6:
		return aNode(name)
	case 7:
		return &corev1.Node{ObjectMeta: objectMeta,
			Spec: corev1.NodeSpec{ProviderID: key, Taints: []corev1.Taint{{Key: key}}}, Status: fuzzedStatus(name, node)}
	case 8:
		return aClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Namespace, c.Name, c.Labels = namespace, name, objectMeta.Labels
		})
	case 9:
		return &policyv1.Eviction{ObjectMeta: objectMeta}
	case 10:
		return aLease(namespace, name)
	case 11:
		return aCSINode(name)
	case 12:
		slice := aSlice(node)
		slice.Spec.Driver, slice.Spec.Pool.Name = key, name
		return slice
	case 13:
		return &authenticationv1.TokenRequest{ObjectMeta: objectMeta, Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{key},
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: name,
				UID: objectMeta.UID}}}
	case 14:
		return &authenticationv1.TokenRequest{}
	case 15:
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: objectMeta,
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: key, Request: []byte(name)}}
	case 16:
		return &certificatesv1.PodCertificateRequest{ObjectMeta: objectMeta,
			Spec: certificatesv1.PodCertificateRequestSpec{SignerName: key, NodeName: types.NodeName(node), PodName: name}}
	case 17:
		return &corev1.Event{ObjectMeta: objectMeta,
			InvolvedObject: corev1.ObjectReference{Kind: key, Namespace: namespace, Name: name},
			Source:         corev1.EventSource{Host: node}}
	case 18:
		return &eventsv1.Event{ObjectMeta: objectMeta,
			Regarding: corev1.ObjectReference{Kind: key, Namespace: namespace, Name: name}, ReportingInstance: node}
	default:
		return &resourcev1.ResourceSlice{}
	}
}

// fuzzedStatus returns a status with volumes, an operating system and an architecture.
func fuzzedStatus(attached, inUse string) corev1.NodeStatus {
	return corev1.NodeStatus{
		VolumesAttached: []corev1.AttachedVolume{{Name: corev1.UniqueVolumeName(attached)}},
		VolumesInUse:    []corev1.UniqueVolumeName{corev1.UniqueVolumeName(inUse), ""},
		NodeInfo:        corev1.NodeSystemInfo{OperatingSystem: attached, Architecture: inUse},
	}
}

// reviewed is a write in the form of numbers and strings, with the old object.
type reviewed struct {
	who, group                                 string
	op, resource                               uint8
	subresource                                string
	kind, oldKind                              uint8
	namespace, requested, name, node, old, key string
}

// eachReview returns writes to every resource with every kind of object, of this node and of
// another one.
func eachReview() []reviewed {
	var all []reviewed
	for i := range len(kinds) {
		for _, subresource := range []string{"", "status", "eviction", "token"} {
			for kind := range uint8(20) {
				for op := range uint8(4) {
					for _, names := range [][4]string{{"me", "me", "me", "me"}, {"mine", "other", "other", "other"},
						{"mine", "mine", "me", "other"}} {
						all = append(all, reviewed{"system:node:me", "system:nodes", op, uint8(i), subresource, kind, kind, "default",
							names[0], names[1], names[2], names[3], "a"})
					}
				}
			}
		}
	}
	for i := range len(kinds) {
		for kind := range uint8(20) {
			all = append(all, reviewed{"system:bootstrap:a", "system:bootstrappers", 0, uint8(i), "", kind, kind, "", "me", "me",
				"me", "me", clientSigner})
		}
	}
	return all
}

// hold reviews the write in every mode. It fails the test if an answer breaks an invariant.
func (r reviewed) hold(t *testing.T, modes *inEveryMode, resources []string) {
	t.Helper()
	operation := []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}[r.op%4]
	object, old := fuzzed(r.kind, r.namespace, r.name, r.node, r.key), fuzzed(r.oldKind, r.namespace, r.name, r.old, r.key)
	a := write("me", operation, resources[int(r.resource)%len(resources)], r.subresource, object, old,
		in(r.namespace), named(r.requested), as(&user.DefaultInfo{Name: r.who, Groups: []string{r.group}}))
	got := modes.check(t, a)
	me, isNode := strings.CutPrefix(r.who, "system:node:")
	isNode = isNode && r.group == "system:nodes"
	switch {
	case !isNode && !got.Allowed() && !strings.HasPrefix(string(got.Rule), "NR-BOOT-"):
		t.Errorf("not a node, but refused by %s", got.Rule)
	case isNode && got.Allowed():
		holdNode(t, me, a)
	}
}

// TestEveryReview checks the invariants for all writes of eachReview. The fuzzer starts with only
// some of them, because all would use all of its time.
func TestEveryReview(t *testing.T) {
	modes, resources := newInEveryMode(), slices.Sorted(maps.Keys(kinds))
	for _, r := range eachReview() {
		r.hold(t, modes, resources)
	}
}

// FuzzReview checks the same invariants.
func FuzzReview(f *testing.F) {
	all := eachReview()
	// 97 has no common factor with the sizes of the loops, so this takes some of each.
	for i := 0; i < len(all); i += 97 {
		r := all[i]
		f.Add(r.who, r.group, r.op, r.resource, r.subresource, r.kind, r.oldKind, r.namespace, r.requested, r.name, r.node,
			r.old, r.key)
	}
	modes, resources := newInEveryMode(), slices.Sorted(maps.Keys(kinds))
	f.Fuzz(func(t *testing.T, who, group string, op, resource uint8, subresource string, kind, oldKind uint8, namespace,
		requested, name, node, old, key string) {
		reviewed{who, group, op, resource, subresource, kind, oldKind, namespace, requested, name, node, old, key}.hold(t,
			modes, resources)
	})
}

// holdNode fails the test if an admitted write is to another node's Node or pod.
func holdNode(t *testing.T, me string, a admission.Attributes) {
	object, old := present(a.GetObject()), present(a.GetOldObject())
	named := func(o runtime.Object) bool { node, ok := o.(*corev1.Node); return ok && node.Name == me }
	bound := func(o runtime.Object) bool { pod, ok := o.(*corev1.Pod); return ok && pod.Spec.NodeName == me }
	ok := true
	switch resource := a.GetResource().Resource; {
	case resource == "nodes" && a.GetOperation() != admission.Connect:
		ok = a.GetName() == me && (a.GetOperation() == admission.Delete || named(object)) &&
			(a.GetOperation() != admission.Update || named(old))
	case resource == "pods" && a.GetSubresource() == "eviction":
		name := a.GetName()
		if name == "" {
			name = object.(*policyv1.Eviction).Name
		}
		pod, err := aCluster().Pod(t.Context(), a.GetNamespace(), name)
		ok = err == nil && pod.Spec.NodeName == me
	case resource == "pods" && a.GetOperation() == admission.Create:
		ok = bound(object) && metav1.HasAnnotation(object.(*corev1.Pod).ObjectMeta, corev1.MirrorPodAnnotationKey)
	case resource == "pods":
		ok = bound(old) && (a.GetSubresource() == "status" || a.GetOperation() == admission.Delete)
	}
	if !ok || me == "" {
		t.Errorf("node %q may %s %s/%s %q: %v, which was %v", me, a.GetOperation(), a.GetResource().Resource,
			a.GetSubresource(), a.GetName(), object, old)
	}
}

// inEveryMode has one Restriction each with all optional rules off, audited and enforced.
type inEveryMode struct {
	off, audit, enforce *Restriction
	known               map[rules.ID]bool
}

func newInEveryMode() *inEveryMode {
	caps := configuration.Caps{MirrorPods: 1, ResourceSlices: 1, PodCertificateRequests: 1, CertificateSigningRequests: 1}
	policy := &configuration.Configuration{Caps: caps,
		MirrorPods: configuration.MirrorPods{Gate: configuration.Enforce, RequireNamespace: true}, MaxTokenSeconds: 3600}
	m := &inEveryMode{known: map[rules.ID]bool{}}
	for _, r := range Rules {
		m.known[r.ID] = true
	}
	with := func(mode rules.Mode) *Restriction {
		return restrict(aCluster(), func(c *Config) {
			c.Modes = Modes(mode)
			c.Configuration = func() *configuration.Configuration { return policy }
		})
	}
	m.off, m.audit, m.enforce = with(rules.Off), with(rules.Audit), with(rules.Enforce)
	return m
}

// check checks the invariants of all writes. It returns the decision without the optional rules.
//
//   - Audit does not change a decision.
//   - Enforce admits nothing that Off denies or Audit reports.
//   - A denial names a rule and has an error code.
func (m *inEveryMode) check(t *testing.T, a admission.Attributes) rules.Decision {
	off, audit, enforce := m.off.Review(t.Context(), a), m.audit.Review(t.Context(), a), m.enforce.Review(t.Context(), a)
	switch {
	case off.Rule != audit.Rule || off.Allowed() != audit.Allowed():
		t.Errorf("off says %q, audit %q", off.Rule, audit.Rule)
	case enforce.Allowed() && (!off.Allowed() || len(audit.Audited()) > 0):
		t.Errorf("enforce admits; off says %q, audited are %v", off.Rule, audit.Audited())
	case off.Allowed() && len(audit.Audited()) == 0 && !enforce.Allowed():
		t.Errorf("enforce refuses by %s, which audit does not report", enforce.Rule)
	case len(off.Audited()) > 0 || len(enforce.Audited()) > 0:
		t.Errorf("audited though off: %v, though enforced: %v", off.Audited(), enforce.Audited())
	}
	for _, v := range []rules.Decision{off, enforce} {
		if v.Allowed() {
			continue
		}
		id, _ := rules.FromReason(v.Status.Message)
		if id != v.Rule || !m.known[id] || v.Status.Code < 400 || v.Status.Reason == "" {
			t.Errorf("refused by %q with %+v", v.Rule, v.Status)
		}
	}
	return off
}
