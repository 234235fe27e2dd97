// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

func TestAudit(t *testing.T) {
	audits := func(age time.Duration, plan *metav1.Duration) func(*testCluster) {
		return func(c *testCluster) {
			for _, h := range c.entries {
				h.AuditFor = plan
				h.AuditSince = map[string]metav1.Time{"--rule-mode=NA-CSR-1=audit": metav1.NewTime(c.now.Add(-age))}
			}
		}
	}
	testRows(t, []row{
		{"longer than the default", audits(8*day, nil), []string{"soon|audit|cp1,cp2|--rule-mode=NA-CSR-1=audit since "}},
		{"within the default", audits(6*day, nil), []string{"note|audit|cp1,cp2|--rule-mode=NA-CSR-1=audit since "}},
		{"longer than planned", audits(6*day, &metav1.Duration{Duration: day}), []string{"soon|audit|cp1,cp2|"}},
		{"within the plan", audits(8*day, &metav1.Duration{Duration: 9 * day}), []string{"note|audit|cp1,cp2|"}},
		{"entry of an older version", func(c *testCluster) { c.entries["cp1"].Modes = "enforce, NA-CSR-1=audit" },
			[]string{"note|audit|cp1|settings only audit, since a time"}},
		{"entry of an older version without audit",
			func(c *testCluster) { c.entries["cp1"].Modes = "enforce, NA-CSR-1=off" }, nil},
	})
}

func TestScopes(t *testing.T) {
	testRows(t, []row{
		{"pending", func(c *testCluster) {
			c.scopes = []Scope{{Account: "a/b", Pending: true}, {Account: "a/c", Pending: true}}
		},
			[]string{"soon|scopes|a/b,a/c|the node scope of these accounts is pending"}},
		{"live", func(c *testCluster) { c.scopes = []Scope{{Account: "a/b"}} }, nil},
		{"misnamed", func(c *testCluster) { c.scopes = []Scope{{Account: "a/b", Unused: true}, {Account: "a/c"}} },
			[]string{"note|scopes|a/b|no pod runs as these accounts"}},
		{"host without a report",
			func(c *testCluster) { c.scopes = []Scope{{Host: "cp1", Problem: "its scope-sync is quiet"}} },
			[]string{"soon|scopes|cp1|its scope-sync is quiet"}},
	})
}

func lease(age time.Duration) func(*testCluster) {
	return func(c *testCluster) {
		c.more = append(c.more, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system",
			Name: hosts.LeaseName, UID: "1", ResourceVersion: "5"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("cp1/7-ABC"), LeaseDurationSeconds: new(int32(180)),
			RenewTime: new(metav1.NewMicroTime(c.now.Add(-age)))}})
	}
}

func TestLease(t *testing.T) {
	testRows(t, []row{
		{"valid", lease(179 * time.Second), []string{"note|lease|cp1|`bulkhead install` or `bulkhead uninstall` runs now"}},
		{"expired", lease(181 * time.Second), []string{"soon|lease|cp1|the Lease bulkhead-installer of an interrupted run"}},
	})
}
