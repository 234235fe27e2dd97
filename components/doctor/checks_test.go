// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

var subject0 = pkix.Name{CommonName: "kubernetes"}

func lasts(until time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = until }
}

// row is a change of a cluster in which everything is as it should be, and the findings after it. A row
// without findings is the healthy case of the row before it: it differs in one field.
type row struct {
	name   string
	change func(*testCluster)
	want   []string
}

func testRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			c := newTestCluster(t)
			r.change(c)
			expect(t, c.run(t), r.want...)
		})
	}
}

func TestHealthyClusterHasNoFinding(t *testing.T) {
	r := newTestCluster(t).run(t)
	expect(t, r)
	if !r.Healthy() || r.Summary() != "0 urgent, 0 soon, 0 notes" {
		t.Errorf("%q", r.Summary())
	}
}

// file sets the authorization file in force. The installer has written aa.

func TestWhatCannotBeReadIsNotHealthy(t *testing.T) {
	c := newTestCluster(t)
	c.denied = []string{"nodes"}
	r := c.run(t)
	if len(r.Findings) != 1 || !r.Findings[0].NotChecked || r.Healthy() {
		t.Fatalf("findings are %q, want one that was not checked", lines(r))
	}
	for _, id := range []string{"hosts", "kubelets", "audit", "objects"} {
		if !slices.Contains(r.Findings[0].Names, id) {
			t.Errorf("%s is not among the checks that were not done: %v", id, r.Findings[0].Names)
		}
	}
	for _, denied := range []string{"leases", "certificatesigningrequests", "clusterrolebindings"} {
		c := newTestCluster(t)
		c.denied = []string{denied}
		if r := c.run(t); r.Healthy() || !strings.Contains(strings.Join(lines(r), "\n"), "not checked: ") {
			t.Errorf("%s denied: findings are %q", denied, lines(r))
		}
	}
}

func TestServerThatDoesNotAnswerIsAnError(t *testing.T) {
	c := newTestCluster(t)
	c.version = ""
	if _, err := Run(t.Context(), c.options()); err == nil || !strings.Contains(err.Error(), "connection refused; check") {
		t.Errorf("error is %v", err)
	}
}

func TestChecksHaveIDsAndTexts(t *testing.T) {
	seen := map[string]error{}
	for _, c := range Checks() {
		if seen[c.ID] != nil || c.ID == "" || c.Description == "" || c.Means == "" || c.run == nil {
			t.Errorf("check %q is incomplete, or there twice", c.ID)
		}
		seen[c.ID] = errors.New("seen")
	}
}
