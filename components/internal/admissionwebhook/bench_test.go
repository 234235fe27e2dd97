// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// admitting admits every request.
type admitting struct{}

func (admitting) Review(context.Context, admission.Attributes) rules.Decision {
	return rules.Decision{Effect: rules.Allow}
}

// nodeWithImages is a Node as a kubelet writes it.
func nodeWithImages(b *testing.B, images int) string {
	b.Helper()
	node := corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	for i := range images {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("registry.example/images/some-image@sha256:%064d", i),
				fmt.Sprintf("registry.example/images/some-image:v1.%d", i)},
			SizeBytes: int64(i) << 20,
		})
	}
	data, err := json.Marshal(node)
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// BenchmarkHandler measures one admitted review, from body to answer, without HTTP and with a
// reviewer that admits. The reviews are: the create of a small pod, the status of a Node with 50
// images, and a write of a user that is not a node.
func BenchmarkHandler(b *testing.B) {
	node := nodeWithImages(b, 50)
	update := func(f *fields) {
		f.resource, f.kind, f.subresource, f.operation = nodeGVR, `{"version":"v1","kind":"Node"}`, `"status"`, `"UPDATE"`
		f.object, f.old = node, node
	}
	for _, bb := range []struct{ name, body string }{
		{"pod", reviewOf(nil)},
		{"node", reviewOf(update)},
		{"nobody", reviewOf(func(f *fields) { update(f); f.user = asAdmin })},
	} {
		b.Run(bb.name, func(b *testing.B) {
			config := testConfig(admitting{})
			config.Clock = clock.RealClock{}
			h := New(config)
			body := strings.NewReader(bb.body)
			req := httptest.NewRequest(http.MethodPost, "/admit", io.NopCloser(body))
			req.Header.Set("Content-Type", "application/json")
			req.ContentLength = int64(len(bb.body))
			w := discard{http.Header{}}
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				body.Reset(bb.body)
				h.ServeHTTP(w, req)
			}
		})
	}
}

// BenchmarkDecoding measures the least work of any webhook: encoding/json decodes the review and
// its objects into the API's types, without limits and checks.
func BenchmarkDecoding(b *testing.B) {
	node := nodeWithImages(b, 50)
	body := []byte(reviewOf(func(f *fields) { f.object, f.old = node, node }))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var review admissionv1.AdmissionReview
		var object, old corev1.Node
		if err := errors.Join(json.Unmarshal(body, &review), json.Unmarshal(review.Request.Object.Raw, &object),
			json.Unmarshal(review.Request.OldObject.Raw, &old)); err != nil {
			b.Fatal(err)
		}
	}
}
