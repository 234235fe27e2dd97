// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Reviews come back answered, in both encodings of Kubernetes' own client, and not
// before their time.
func TestAPIServer(t *testing.T) {
	const latency = 20 * time.Millisecond
	server := httptest.NewServer(APIServer(latency))
	t.Cleanup(server.Close)
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			token, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
				Spec: authenticationv1.TokenReviewSpec{Token: "any", Audiences: []string{"a"}},
			}, metav1.CreateOptions{})
			if err != nil || !token.Status.Authenticated || token.Status.User.Username != User || len(token.Status.Audiences) != 1 {
				t.Errorf("answer %+v, error %v", token, err)
			}
			access, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: User},
			}, metav1.CreateOptions{})
			if err != nil || !access.Status.Allowed {
				t.Errorf("answer %+v, error %v", access, err)
			}
			if took := time.Since(start); took < 2*latency {
				t.Errorf("two reviews took %v", took)
			}
		})
	}
}

func TestBodiesAreAsLargeAsTheySay(t *testing.T) {
	for path, want := range map[string]int{
		Small: SmallBytes, Large: LargeBytes,
		Logs + "?" + Flow{Bytes: 100_000}.Query():                     100_000,
		Logs + "?" + Flow{Bytes: 100_000, PerSecond: 1 << 30}.Query(): 100_000,
	} {
		recorder := httptest.NewRecorder()
		Kubelet().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if got := recorder.Body.Len(); recorder.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, %d bytes, want %d", path, recorder.Code, got, want)
		}
	}
}

// A flow is not faster than its rate.
func TestFlowKeepsItsRate(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	err := Flow{Bytes: 10 * pieceBytes, PerSecond: 100 * pieceBytes}.send(func(piece []byte) error {
		_, err := out.Write(piece)
		return err
	})
	if took := time.Since(start); err != nil || took < 90*time.Millisecond || out.Len() != 10*pieceBytes {
		t.Errorf("%d bytes in %v, error %v", out.Len(), took, err)
	}
}

func TestAFlowThatSaysNothingIsRefused(t *testing.T) {
	for _, req := range []*http.Request{
		httptest.NewRequest(http.MethodGet, Logs, nil),
		httptest.NewRequest(http.MethodPost, Stream+"?do="+Send+"&bytes=1", io.NopCloser(nil)),
	} {
		recorder := httptest.NewRecorder()
		Kubelet().ServeHTTP(recorder, req)
		if recorder.Code != http.StatusBadRequest {
			t.Errorf("%s is answered %d", req.URL, recorder.Code)
		}
	}
}
