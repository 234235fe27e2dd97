// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// callerOf returns a client that calls h as kube-apiserver does: with client-go, with a codec of
// the same kind, at the URL of a registration. kube-apiserver's own caller, pkg/util/webhook, needs
// more modules than this project has.
func callerOf(t *testing.T, h *Handler, http2 bool) *rest.RESTClient {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL, APIPath: "/admit", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1,
		ContentConfig: rest.ContentConfig{
			ContentType: runtime.ContentTypeJSON,
			NegotiatedSerializer: serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{
				Serializer: serializer.NewCodecFactory(scheme).LegacyCodec(admissionv1.SchemeGroupVersion),
			}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// outcome is the result that kube-apiserver draws from a call.
type outcome struct {
	// Err is the error that the client receives. It is nil if the write is admitted.
	Err         *metav1.Status
	Warnings    []string
	Annotations map[string]string
}

// dispatch is what kube-apiserver does with one validating webhook. Source:
// k8s.io/apiserver pkg/admission/plugin/webhook/validating/dispatcher.go callHook,
// request/admissionreview.go VerifyAdmissionResponse.
func dispatch(ctx context.Context, client *rest.RESTClient, q *admissionv1.AdmissionRequest) (outcome, error) {
	var got admissionv1.AdmissionReview
	call := client.Post().Timeout(time.Minute).Body(&admissionv1.AdmissionReview{Request: q})
	if err := call.Do(ctx).Into(&got); err != nil {
		return outcome{}, fmt.Errorf("failed call: %w", err)
	}
	switch {
	case got.Response == nil:
		return outcome{}, errors.New("response was absent")
	case got.Response.UID != q.UID:
		return outcome{}, fmt.Errorf("uid %q", got.Response.UID)
	case got.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"):
		return outcome{}, fmt.Errorf("response is a %v", got.GroupVersionKind())
	case len(got.Response.Patch) > 0 || got.Response.PatchType != nil:
		return outcome{}, errors.New("a validating webhook patched")
	}
	o := outcome{Warnings: got.Response.Warnings, Annotations: got.Response.AuditAnnotations}
	if !got.Response.Allowed {
		o.Err = &webhookerrors.ToStatusErr("w", got.Response.Result).ErrStatus
	}
	return o, nil
}

func podOf(size int) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "a",
			Annotations: map[string]string{"a": strings.Repeat("a", size)}},
	}
}

// byNode is the update of a pod by the node x.
func byNode(object, old runtime.Object) *admissionv1.AdmissionRequest {
	dryRun := false
	return &admissionv1.AdmissionRequest{
		UID: "b4d1f0c2-6c57-4a54-8d2e-6a6f1f5f0b11", Name: "b", Namespace: "a", Operation: admissionv1.Update,
		DryRun:   &dryRun,
		Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, SubResource: "status",
		UserInfo: authenticationv1.UserInfo{Username: "system:node:x",
			Groups: []string{"system:nodes", "system:authenticated"}},
		Object: runtime.RawExtension{Object: object}, OldObject: runtime.RawExtension{Object: old},
		Options: runtime.RawExtension{Object: &metav1.UpdateOptions{}},
	}
}

// byName answers as the name of the pod says.
func byName(_ context.Context, a admission.Attributes) rules.Decision {
	pod, ok := a.GetObject().(*corev1.Pod)
	switch {
	case !ok:
		return refusing().answer
	case pod.Name == "panic":
		panic("oh")
	case pod.Name == "missing":
		return rules.Decision{Rule: testRule.ID,
			Status: &apierrors.NewNotFound(podsResource, testRule.Reason("missing")).ErrStatus}
	case pod.Name == "odd":
		return rules.Decision{Effect: rules.Allow, Warnings: []string{"w\n"}, Annotations: map[string]string{"a": "\x00"}}
	case pod.Name == "refused":
		return refusing().answer
	}
	return rules.Decision{Effect: rules.Allow}
}

// A request must always get an answer, whatever it contains. A failed call would become a 500
// without a reason, or an admission.
func TestKubeAPIServerReadsTheAnswer(t *testing.T) {
	named := func(name string) *admissionv1.AdmissionRequest {
		pod := podOf(0)
		pod.Name = name
		return byNode(pod, podOf(0))
	}
	told := func(code int32, reason metav1.StatusReason, message string) *metav1.Status {
		return &metav1.Status{Status: "Failure", Code: code, Reason: reason,
			Message: `admission webhook "w" denied the request: ` + message}
	}
	detailed := func(s *metav1.Status, name string) *metav1.Status {
		s.Details = &metav1.StatusDetails{Name: name, Kind: "pods"}
		return s
	}
	rule := map[string]string{"rule": "NR-TEST-1"}
	large := outcome{Err: told(413, metav1.StatusReasonRequestEntityTooLarge,
		"a review of more than 8388608 bytes [NR-LIMIT]"), Annotations: map[string]string{"rule": "NR-LIMIT"}}
	admin := named("refused")
	admin.UserInfo.Username = "admin"
	gone := named("b")
	gone.OldObject = runtime.RawExtension{}
	owned := podOf(0)
	owned.OwnerReferences = slices.Repeat([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "x", UID: "1"}},
		10_000)
	for _, tt := range []struct {
		name string
		in   *admissionv1.AdmissionRequest
		want outcome
	}{
		{"an admission is one", named("b"), outcome{}},
		{"a refusal says why", named("refused"),
			outcome{Annotations: rule, Err: detailed(told(403, "Forbidden", `pods "b" is forbidden: no [NR-TEST-1]`), "b")}},
		{"a 404 stays one", named("missing"),
			outcome{Annotations: rule,
				Err: detailed(told(404, "NotFound", `pods "missing [NR-TEST-1]" not found`), "missing [NR-TEST-1]")}},
		{"a panic is a refusal", named("panic"), outcome{Err: told(500, "InternalError", "internal error")}},
		{"words are safe to show", named("odd"),
			outcome{Warnings: []string{"w\ufffd"}, Annotations: map[string]string{"a": "\ufffd"}}},
		{"who is no node is admitted", admin, outcome{}},
		{"an object that is missing is a refusal", gone, outcome{Err: told(400, "BadRequest", "oldObject is missing")}},
		{"two objects of 3 MB are read", byNode(podOf(3<<20), podOf(3<<20)), outcome{}},
		{"10,000 ownerReferences are read", byNode(owned, owned), outcome{}},
		{"20 MB are a refusal", byNode(podOf(20<<20), podOf(0)), large},
	} {
		for _, http2 := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s with HTTP/2 %v", tt.name, http2), func(t *testing.T) {
				got, err := dispatch(t.Context(), callerOf(t, New(testConfig(ReviewerFunc(byName))), http2), tt.in)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

// A review that is denied before it is read is answered with the uid. kube-apiserver writes the uid
// first.
func TestTheUIDIsWithinTheHead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	q := byNode(podOf(0), podOf(0))
	body, err := runtime.Encode(serializer.NewCodecFactory(scheme).LegacyCodec(admissionv1.SchemeGroupVersion),
		&admissionv1.AdmissionReview{Request: q})
	if err != nil {
		t.Fatal(err)
	}
	if uid, ok := uidIn(body[:150]); !ok || uid != q.UID {
		t.Errorf("uid %q in the first 150 bytes of %s", uid, body)
	}
}
