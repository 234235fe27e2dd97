// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Reviews are answered, in both encodings of Kubernetes' own client, and not before the configured
// delay.
func TestAPIServer(t *testing.T) {
	server := httptest.NewServer(APIServer())
	t.Cleanup(server.Close)
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(
				&rest.Config{
					Host:          server.URL,
					ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			token, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
				Spec: authenticationv1.TokenReviewSpec{Token: "any", Audiences: []string{"a"}},
			}, metav1.CreateOptions{})
			if err != nil || !token.Status.Authenticated || token.Status.User.Username != User ||
				len(token.Status.Audiences) != 1 {
				t.Errorf("answer %+v, error %v", token, err)
			}
			access, err := client.AuthorizationV1().
				SubjectAccessReviews().
				Create(t.Context(), &authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{User: User},
				}, metav1.CreateOptions{})
			if err != nil || !access.Status.Allowed {
				t.Errorf("answer %+v, error %v", access, err)
			}
		})
	}
}

func TestBodiesHaveTheirSize(t *testing.T) {
	for path, want := range map[string]int{Small: SmallBytes, Large: LargeBytes} {
		recorder := httptest.NewRecorder()
		Kubelet().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if got := recorder.Body.Len(); recorder.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, %d bytes, want %d", path, recorder.Code, got, want)
		}
	}
}

func TestStreamHasItsSize(t *testing.T) {
	server := httptest.NewServer(Kubelet())
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(
		conn,
		"POST %s?bytes=100000 HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
		In(Stream, "a"),
	)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answer %v, error %v", answer, err)
	}
	if n, err := io.Copy(io.Discard, reader); err != nil || n != 100_000 {
		t.Errorf("%d bytes, error %v", n, err)
	}
}
