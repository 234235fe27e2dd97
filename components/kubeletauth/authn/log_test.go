// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// syncBuffer is a log output that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *syncBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// captureLog writes all log lines, at every verbosity, to a buffer.
func captureLog(t *testing.T) *syncBuffer {
	t.Helper()
	t.Cleanup(klog.CaptureState().Restore)
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	for name, value := range map[string]string{"v": "10", "logtostderr": "false", "alsologtostderr": "false",
		"stderrthreshold": "FATAL"} {
		if err := fs.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	out := &syncBuffer{}
	klog.SetOutput(out)
	return out
}

// client-go logs bodies at high verbosity. The bodies of a TokenReview and of its answer contain
// the token.
func TestTokensAreNeverLogged(t *testing.T) {
	const token = "a-token-that-nobody-may-read"
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusCreated
		if strings.Contains(string(body), "fail") {
			status = http.StatusForbidden
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	out := captureLog(t)
	// JSON contains the token as it is. A dump of protobuf would split it into lines of 16 bytes.
	asJSON := rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: asJSON})
	if err != nil {
		t.Fatal(err)
	}
	reviews := client.AuthenticationV1().TokenReviews()
	w := onlyTokens(t, func(c *Config) { c.Reviews = reviews })
	w.expect(t, bearer(t, token), badToken)
	for _, other := range []string{token + "-fail", strings.Repeat(token, 1000)} {
		_, _, err := w.AuthenticateRequest(bearer(t, other))
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("refused with %v", err)
		}
	}
	klog.Flush()
	if strings.Contains(out.text(), token) {
		t.Errorf("the token is in the log:\n%s", out.text())
	}
	// The same call with the default logger shows that the test would find a token.
	_, _ = reviews.Create(context.Background(),
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	klog.Flush()
	if !strings.Contains(out.text(), token) {
		t.Error("this test would not see a token in the log")
	}
}
