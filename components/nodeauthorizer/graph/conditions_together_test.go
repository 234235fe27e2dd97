// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Several conditions can apply at the same time, each in its own mode.
func TestConditionsTogether(t *testing.T) {
	endedAccount := func(g *Graph) {
		withAccount()(g)
		g.EndPod("ns", "pod", "uid-of-pod")
	}
	endedOwner := func(g *Graph) {
		withEphemeral()(g)
		g.EndPod("ns", "pod", "uid-of-pod")
	}
	for _, row := range []struct {
		name      string
		options   Options
		world     func(*Graph)
		kind      Kind
		namespace string
		object    string
		want      Relation
	}{
		{"ended condition comes before unusable", Options{Ended: rules.Enforce, Unusable: rules.Enforce},
			endedAccount, ServiceAccountToken, "ns", "x", Relation{Condition: Ended}},
		{"an audit of pods that have ended opens no account", Options{Ended: rules.Audit, Unusable: rules.Enforce},
			endedAccount, ServiceAccount, "ns", "x", Relation{Condition: Unusable}},
		{"an audit of accounts opens none of a pod that has ended", Options{Ended: rules.Enforce, Unusable: rules.Audit},
			endedAccount, ServiceAccount, "ns", "x", Relation{Condition: Ended}},
		{"the end of a pod opens no claim that is not its own", Options{Ended: rules.Enforce, Unowned: rules.Enforce},
			endedOwner, PersistentVolumeClaim, "ns", "pod-vol", Relation{Condition: Unowned}},
		{"ended pod in audit: unowned claim stays denied", Options{Ended: rules.Audit, Unowned: rules.Enforce},
			endedOwner, Secret, "csi", "stage", Relation{Condition: Unowned}},
		{"ended pod, audited claim rule: condition is reported", Options{Ended: rules.Enforce, Unowned: rules.Audit},
			endedOwner, PersistentVolumeClaim, "ns", "pod-vol", Relation{Related: true, Condition: Unowned}},
		{"but opens no secret", Options{Ended: rules.Enforce, Unowned: rules.Audit},
			endedOwner, Secret, "csi", "stage", Relation{Condition: Ended}},
		{"where kubelets have credential providers every account is of use",
			Options{Unusable: rules.Enforce, CredentialProviders: true}, withAccount(), ServiceAccount, "ns", "x",
			Relation{Related: true}},
		{"and every token", Options{Unusable: rules.Enforce, CredentialProviders: true},
			withAccount(), ServiceAccountToken, "ns", "x", Relation{Related: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := New(row.options)
			row.world(g)
			got := g.Relation("n1", row.kind, row.namespace, row.object)
			if diff := gocmp.Diff(row.want, got); diff != "" {
				t.Errorf("Relation (-want +got):\n%s", diff)
			}
		})
	}
}
