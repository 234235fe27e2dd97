// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

func gvk(gv schema.GroupVersion, kind string) schema.GroupVersionKind { return gv.WithKind(kind) }

// This table repeats what is decoded and as which type, because reviewers rely on every line.
func TestObjectsByResource(t *testing.T) {
	for _, tt := range []struct {
		resource, subresource string
		group                 string
		kind                  schema.GroupVersionKind
		want                  runtime.Object
	}{
		{"pods", "", "", gvk(corev1.SchemeGroupVersion, "Pod"), &corev1.Pod{}},
		{"pods", "status", "", gvk(corev1.SchemeGroupVersion, "Pod"), &corev1.Pod{}},
		{"pods", "eviction", "", gvk(policyv1.SchemeGroupVersion, "Eviction"), &policyv1.Eviction{}},
		{"nodes", "", "", gvk(corev1.SchemeGroupVersion, "Node"), &corev1.Node{}},
		{"nodes", "status", "", gvk(corev1.SchemeGroupVersion, "Node"), &corev1.Node{}},
		{"persistentvolumeclaims", "", "", gvk(corev1.SchemeGroupVersion, "PersistentVolumeClaim"),
			&corev1.PersistentVolumeClaim{}},
		{"persistentvolumeclaims", "status", "", gvk(corev1.SchemeGroupVersion, "PersistentVolumeClaim"),
			&corev1.PersistentVolumeClaim{}},
		{"serviceaccounts", "token", "", gvk(authenticationv1.SchemeGroupVersion, "TokenRequest"),
			&authenticationv1.TokenRequest{}},
		{"events", "", "", gvk(corev1.SchemeGroupVersion, "Event"), &corev1.Event{}},
		{"events", "", "events.k8s.io", gvk(eventsv1.SchemeGroupVersion, "Event"), &eventsv1.Event{}},
		{"leases", "", "coordination.k8s.io", gvk(coordinationv1.SchemeGroupVersion, "Lease"), &coordinationv1.Lease{}},
		{"csinodes", "", "storage.k8s.io", gvk(storagev1.SchemeGroupVersion, "CSINode"), &storagev1.CSINode{}},
		{"resourceslices", "", "resource.k8s.io", gvk(resourcev1.SchemeGroupVersion, "ResourceSlice"),
			&resourcev1.ResourceSlice{}},
		{"certificatesigningrequests", "", "certificates.k8s.io",
			gvk(certificatesv1.SchemeGroupVersion, "CertificateSigningRequest"), &certificatesv1.CertificateSigningRequest{}},
		{"certificatesigningrequests", "status", "certificates.k8s.io",
			gvk(certificatesv1.SchemeGroupVersion, "CertificateSigningRequest"), &certificatesv1.CertificateSigningRequest{}},
		{"certificatesigningrequests", "approval", "certificates.k8s.io",
			gvk(certificatesv1.SchemeGroupVersion, "CertificateSigningRequest"), &certificatesv1.CertificateSigningRequest{}},
		{"podcertificaterequests", "", "certificates.k8s.io", gvk(certificatesv1.SchemeGroupVersion, "PodCertificateRequest"),
			&certificatesv1.PodCertificateRequest{}},
		{"podcertificaterequests", "status", "certificates.k8s.io",
			gvk(certificatesv1.SchemeGroupVersion, "PodCertificateRequest"), &certificatesv1.PodCertificateRequest{}},
		{"pods", "binding", "", gvk(corev1.SchemeGroupVersion, "Binding"), &corev1.Binding{}},
		{"bindings", "", "", gvk(corev1.SchemeGroupVersion, "Binding"), &corev1.Binding{}},
		{"pods", "ephemeralcontainers", "", gvk(corev1.SchemeGroupVersion, "Pod"), &corev1.Pod{}},
		{"pods", "resize", "", gvk(corev1.SchemeGroupVersion, "Pod"), &corev1.Pod{}},
		{"pods", "attach", "", gvk(corev1.SchemeGroupVersion, "PodAttachOptions"), nil},
		{"nodes", "proxy", "", gvk(corev1.SchemeGroupVersion, "Node"), nil},
		{"serviceaccounts", "", "", gvk(corev1.SchemeGroupVersion, "ServiceAccount"), &corev1.ServiceAccount{}},
		{"pods", "", "metrics.k8s.io", gvk(corev1.SchemeGroupVersion, "Pod"), nil},
	} {
		t.Run(tt.group+"/"+tt.resource+"/"+tt.subresource, func(t *testing.T) {
			data := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":"b"}}`, tt.kind.Kind, tt.kind.GroupVersion())
			a, err := newTargets(nil).attributesOf(&request{
				Kind:        metav1.GroupVersionKind(tt.kind),
				Resource:    metav1.GroupVersionResource{Group: tt.group, Version: "v1", Resource: tt.resource},
				SubResource: tt.subresource, Operation: admission.Update, Object: raw(data), OldObject: raw(data),
			})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				if a.GetObject() != nil || a.GetOldObject() != nil {
					t.Errorf("objects %T and %T, want none", a.GetObject(), a.GetOldObject())
				}
				return
			}
			if err := json.Unmarshal([]byte(data), tt.want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, a.GetObject()); diff != "" {
				t.Errorf("object (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, a.GetOldObject()); diff != "" {
				t.Errorf("old object (-want +got)\n%s", diff)
			}
		})
	}
}

func TestObjectsByOperation(t *testing.T) {
	const none, one = "null", podB
	for _, tt := range []struct {
		operation, object, old string
		// want names the objects that the reviewer sees, or the reason why it is not called.
		want string
	}{
		{"CREATE", one, none, "object"},
		{"CREATE", none, none, "object is missing"},
		{"CREATE", none, one, "object is missing"},
		{"CREATE", one, one, "object"},
		{"CREATE", one, `"x"`, "object"},
		{"UPDATE", one, one, "object old"},
		{"UPDATE", none, one, "object is missing"},
		{"UPDATE", one, none, "oldObject is missing"},
		{"UPDATE", none, none, "object is missing"},
		{"UPDATE", one, `"x"`, "decoding oldObject: it has a value of a wrong type"},
		{"UPDATE", `"x"`, one, "decoding object: it has a value of a wrong type"},
		{"DELETE", none, one, "old"},
		{"DELETE", none, none, "oldObject is missing"},
		{"DELETE", one, none, "oldObject is missing"},
		{"DELETE", one, one, "old"},
		{"CONNECT", none, none, ""},
		{"CONNECT", one, one, ""},
	} {
		t.Run(fmt.Sprint(tt.operation, " ", tt.object != none, " ", tt.old != none), func(t *testing.T) {
			r := allowing()
			got := replyTo(t, New(testConfig(r)), reviewOf(func(f *fields) {
				f.operation, f.object, f.old = `"`+tt.operation+`"`, tt.object, tt.old
			}))
			if len(r.asked) == 0 {
				if diff := cmp.Diff(unread(tt.want), got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				return
			}
			if saw := seen(r.asked[0]); saw != tt.want {
				t.Errorf("saw %q, want %q", saw, tt.want)
			}
		})
	}
}

// seen names the objects in the attributes. Like a reviewer, it distinguishes a nil interface from
// a nil pointer.
func seen(a admission.Attributes) string {
	switch {
	case a.GetObject() != nil && a.GetOldObject() != nil:
		return "object old"
	case a.GetObject() != nil:
		return "object"
	case a.GetOldObject() != nil:
		return "old"
	default:
		return ""
	}
}

// An object that is absent from the review is decoded as nil.
func TestAbsentObjectsAreMissing(t *testing.T) {
	q, err := decodeReview(
		[]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","userInfo":` + asNodeX +
			`}}`))
	if err != nil || q.Object != nil || q.OldObject != nil {
		t.Errorf("objects %q and %q (%v), want none", q.Object, q.OldObject, err)
	}
}

func TestAttributes(t *testing.T) {
	r := allowing()
	post(New(testConfig(r)), reviewOf(func(f *fields) {
		f.resource, f.subresource, f.more = nodeGVR, `"status"`, ``
		f.kind, f.object, f.old, f.operation = `{"version":"v1","kind":"Node"}`, `{"kind":"Node","apiVersion":"v1"}`,
			`{"kind":"Node","apiVersion":"v1","metadata":{"name":"old"}}`, `"UPDATE"`
	}))
	if len(r.asked) != 1 {
		t.Fatalf("asked %d times", len(r.asked))
	}
	a := r.asked[0]
	type attributes struct {
		User                         user.Info
		Resource                     schema.GroupVersionResource
		Kind                         schema.GroupVersionKind
		Subresource, Namespace, Name string
		Operation                    admission.Operation
		DryRun                       bool
		Options                      runtime.Object
		Old                          string
	}
	old, _ := a.GetOldObject().(*corev1.Node)
	got := attributes{a.GetUserInfo(), a.GetResource(), a.GetKind(), a.GetSubresource(), a.GetNamespace(), a.GetName(),
		a.GetOperation(), a.IsDryRun(), a.GetOperationOptions(), old.Name}
	want := attributes{
		User: &user.DefaultInfo{Name: "system:node:x", UID: "1", Groups: []string{"system:nodes"},
			Extra: map[string][]string{"k": {"v"}}},
		Resource:    schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
		Kind:        schema.GroupVersionKind{Version: "v1", Kind: "Node"},
		Subresource: "status", Namespace: "a", Name: "b", Operation: "UPDATE", Old: "old",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDryRun(t *testing.T) {
	q, err := decodeReview(
		[]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","dryRun":true,"userInfo":` +
			asNodeX + `}}`))
	if err != nil || !q.DryRun {
		t.Errorf("dry run %v (%v)", q.DryRun, err)
	}
}

// A reviewer may keep the objects, but the memory of the body is reused.
func TestObjectsShareNoMemoryWithTheBody(t *testing.T) {
	object := podWith(`"labels":{"k":"v"},"managedFields":[{"manager":"m","fieldsV1":{"f:metadata":{}}}]`)
	body := []byte(reviewOf(func(f *fields) { f.object = object }))
	q, err := decodeReview(body)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newTargets(nil).attributesOf(q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'z'
	}
	var want corev1.Pod
	if err := json.Unmarshal([]byte(object), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, a.GetObject(), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if a.GetName() != "b" || a.GetUserInfo().GetName() != "system:node:x" {
		t.Errorf("the request is %q by %q", a.GetName(), a.GetUserInfo().GetName())
	}
}
