// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// Headers in which a front proxy names the user have no effect.
func TestIdentityHeadersAreIgnored(t *testing.T) {
	w := newWorld(t)
	client := w.ca.Client(t, "c", []string{"o"})
	spoof := map[string]string{
		"X-Remote-User": "admin", "X-Remote-Group": "system:masters", "X-Remote-Uid": "0", "X-Remote-Extra-K": "v",
		"Impersonate-User": "admin", "Impersonate-Group": "system:masters", "Impersonate-Extra-K": "v",
		"X-Forwarded-For": "192.0.2.9", "X-Forwarded-User": "admin", "X-Real-Ip": "192.0.2.9", "Forwarded": "for=192.0.2.9",
	}
	for name, value := range spoof {
		t.Run(name, func(t *testing.T) {
			req := testpki.Request(t)
			req.Header.Set(name, value)
			w.expect(t, req, "")
			req = testpki.Request(t, client)
			req.Header.Set(name, value)
			response, ok, err := w.AuthenticateRequest(req)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if who := response.User; who.GetName() != "c" || strings.Join(who.GetGroups(), " ") != "o system:authenticated" ||
				len(who.GetExtra()) != 1 {
				t.Errorf("user is %v", who)
			}
		})
	}
}

// A header does not change the client address, so a flood cannot use it to avoid the limit.
func TestAddressHeadersAreIgnored(t *testing.T) {
	w := onlyTokens(t)
	heard := map[string]int{}
	for i := range 200 {
		req := bearer(t, fmt.Sprint("bad", i))
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
		heard[w.outcome(t, req)]++
	}
	if heard[clientLimit] < 150 {
		t.Errorf("heard %v", heard)
	}
}

// Concurrent requests never get each other's user.
func TestRequestsAtOnceDoNotMix(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ClientReviews, c.Options.Reviews = Rate{1e6, 1e6}, Rate{1e6, 1e6} })
	one, two := w.ca.Client(t, "one", nil), w.ca.Client(t, "two", nil)
	stranger := testpki.NewCA(t, "ca").Client(t, "stranger", nil)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 50 {
				w.expect(t, testpki.Request(t, one), "one")
				w.expect(t, testpki.Request(t, two), "two")
				w.expect(t, testpki.Request(t, stranger), badCertificate)
				w.expect(t, bearer(t, kubeletToken), "token-user")
				w.expect(t, bearer(t, fmt.Sprint("bad", i, j)), badToken)
				w.expect(t, testpki.Request(t), "")
			}
		})
	}
	callers.Wait()
}

func TestMetrics(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Anonymous, c.ClientReviews.Burst = true, 1 })
	w.expect(t, testpki.Request(t, w.ca.Client(t, "c", nil)), "c")
	w.expect(t, bearer(t, kubeletToken, testpki.NewCA(t, "x").Client(t, "c", nil)), "token-user")
	w.expect(t, bearer(t, "bad"), clientLimit)
	w.expect(t, bearer(t, strings.Repeat("x", 20_000)), "Unauthorized: the token is longer than 16384 bytes [KA-LIMIT-1]")
	w.expect(t, testpki.Request(t), "system:anonymous")
	want := `
# HELP bulkhead_kubelet_authentications_total [ALPHA] Credentials looked at, ` +
		`by method (certificate, token, anonymous) and result (accepted, rejected, limited).
# TYPE bulkhead_kubelet_authentications_total counter
bulkhead_kubelet_authentications_total{method="anonymous",result="accepted"} 1
bulkhead_kubelet_authentications_total{method="anonymous",result="limited"} 0
bulkhead_kubelet_authentications_total{method="anonymous",result="rejected"} 0
bulkhead_kubelet_authentications_total{method="certificate",result="accepted"} 1
bulkhead_kubelet_authentications_total{method="certificate",result="limited"} 0
bulkhead_kubelet_authentications_total{method="certificate",result="rejected"} 1
bulkhead_kubelet_authentications_total{method="token",result="accepted"} 1
bulkhead_kubelet_authentications_total{method="token",result="limited"} 1
bulkhead_kubelet_authentications_total{method="token",result="rejected"} 1
`
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want),
		"bulkhead_kubelet_authentications_total"); err != nil {
		t.Error(err)
	}
}
