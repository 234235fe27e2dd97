// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
)

// A client of client-go with default settings sends 5 reviews a second after the first 10. So 60 of
// them would take 10 s.
func TestNoThrottleInTheClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{},"status":{"allowed":true}}`))
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(
		`{"clusters":[{"name":"c","cluster":{"server":%q}}],`+
			`"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	follower, err := kubeclient.New(kubeconfig, "test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := follower.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Options: DefaultOptions(), Reviews: client.AuthorizationV1().SubjectAccessReviews(),
		Registry: metrics.NewKubeRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var callers sync.WaitGroup
	for i := range 60 {
		callers.Go(func() {
			got, err := a.Authorize(t.Context(), request(func(r *authorizer.AttributesRecord) { r.Name = fmt.Sprint(i) }))
			if !got.Allowed || got.Cached || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	callers.Wait()
	a.Wait()
	if took := time.Since(start); took > 9*time.Second {
		t.Errorf("60 reviews took %v", took)
	}
}
