// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// onlyFix returns the fix of a report that has one.
func onlyFix(t *testing.T, r *Report, name string) Fix {
	t.Helper()
	fixes := r.Fixes()
	if len(fixes) != 1 || fixes[0].Name != name || !slices.Contains(FixNames, name) {
		t.Fatalf("fixes are %v, want %s", fixes, name)
	}
	return fixes[0]
}

func TestFixDeletesOnlyALeaseThatIsOverForLong(t *testing.T) {
	for _, age := range []time.Duration{time.Minute, 359 * time.Second} {
		c := newTestCluster(t)
		lease(age)(c)
		if fixes := c.run(t).Fixes(); len(fixes) != 0 {
			t.Errorf("%v after its renewal: fixes are %v, want none", age, fixes)
		}
	}
	c := newTestCluster(t)
	lease(361 * time.Second)(c)
	fix := onlyFix(t, c.run(t), "lease")
	for range 2 {
		if err := fix.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := readLease(t.Context(), c.client); left != nil || err != nil {
		t.Errorf("the Lease is %v (%v), want none", left, err)
	}
	preconditions := false
	for _, action := range c.client.Actions() {
		if d, is := action.(interface{ GetDeleteOptions() metav1.DeleteOptions }); is {
			p := d.GetDeleteOptions().Preconditions
			preconditions = p != nil && *p.UID == "1" && *p.ResourceVersion == "5"
		}
	}
	if !preconditions {
		t.Error("the Lease is deleted whatever its version is")
	}
}

func TestFixAppliesOnlyTheObjectsThatDiffer(t *testing.T) {
	const role = "ClusterRole/bulkhead:node-authorizer"
	c := newTestCluster(t)
	delete(c.objects, role)
	fix := onlyFix(t, c.run(t), "objects")
	if len(fix.Steps) != 1 || !strings.Contains(fix.Steps[0], "bulkhead:node-authorizer") {
		t.Errorf("steps are %q", fix.Steps)
	}
	for range 2 {
		if err := fix.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{role, role}; !slices.Equal(c.applied, want) {
		t.Errorf("applied %v, want %v", c.applied, want)
	}
	expect(t, c.run(t))
}

func TestFixAppliesNothingWhileAnInstallerRuns(t *testing.T) {
	c := newTestCluster(t)
	delete(c.objects, "ClusterRole/bulkhead:node-authorizer")
	lease(time.Minute)(c)
	fix := onlyFix(t, c.run(t), "objects")
	if err := fix.Apply(t.Context()); err == nil || len(c.applied) > 0 {
		t.Errorf("error %v, applied %v", err, c.applied)
	}
	if err := c.client.CoordinationV1().Leases("kube-system").Delete(t.Context(), hosts.LeaseName,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := fix.Apply(t.Context()); err != nil || len(c.applied) != 1 {
		t.Errorf("error %v, applied %v", err, c.applied)
	}
}
