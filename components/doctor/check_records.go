// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// checkAudit uses the times that `bulkhead install` writes into the entry of each host.
func checkAudit(_ context.Context, in *inputs) ([]Finding, error) {
	installed, err := in.installed()
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, h := range installed {
		for _, setting := range slices.Sorted(maps.Keys(h.Entry.AuditSince)) {
			found = append(found, judgeAudit(h, setting, in.Now()))
		}
		audits := h.Entry.Mode == hosts.Audit || strings.HasPrefix(h.Entry.Modes, hosts.Audit) ||
			strings.Contains(h.Entry.Modes, "="+hosts.Audit)
		if audits && len(h.Entry.AuditSince) == 0 {
			found = append(found, Finding{Severity: Note, Names: []string{h.Node},
				Problem: "settings only audit, since a time that an older version did not record",
				Repair:  "run `bulkhead install` of this version on this host: it records the time"})
		}
	}
	return found, nil
}

func judgeAudit(h clusterstatus.Host, setting string, now time.Time) Finding {
	since, plan := h.Entry.AuditSince[setting].Time, controlplane.DefaultAuditFor
	if h.Entry.AuditFor != nil {
		plan = h.Entry.AuditFor.Duration
	}
	end := since.Add(plan)
	f := Finding{Names: []string{h.Node}}
	began := fmt.Sprintf("%s since %s, planned until %s", setting, since.UTC().Format(time.DateOnly),
		end.UTC().Format(time.DateOnly))
	if now.Before(end) {
		f.Severity, f.Problem = Note, began
		f.Repair = "no action is needed until then; `bulkhead audit` shows what would be denied"
		return f
	}
	f.Severity, f.Problem = Soon, began+": it lasts longer than planned"
	f.Repair = "run `bulkhead audit`, solve its findings, and enforce with `bulkhead install`; to plan more time, " +
		"`bulkhead install --audit-for=336h`"
	return f
}

func checkScopes(ctx context.Context, in *inputs) ([]Finding, error) {
	if in.Scopes == nil {
		return nil, nil
	}
	scopes, err := in.Scopes(ctx)
	if err != nil {
		return nil, err
	}
	pending := Finding{Severity: Soon, Problem: "the node scope of these accounts is pending",
		Repair: "run `bulkhead scope list`; if they are pending for longer than a minute, kubectl -n kube-system logs -l " +
			"app.kubernetes.io/component=scope-sync"}
	unused := Finding{Severity: Note, Problem: "no pod runs as these accounts, which have a node scope",
		Means: "if the name is wrong, the pods that the scope is for run as another account, without a scope",
		Repair: "compare the name with spec.serviceAccountName of these pods; if it is wrong, annotate the account that " +
			"they run as"}
	var found []Finding
	for _, s := range scopes {
		if s.Pending {
			pending.Names = append(pending.Names, s.Account)
		}
		if s.Unused {
			unused.Names = append(unused.Names, s.Account)
		}
		if s.Problem != "" {
			found = append(found, Finding{Severity: Soon, Names: []string{s.Host}, Problem: s.Problem,
				Means:  "it is unknown whether the scopes of accounts are in force on this host",
				Repair: "kubectl -n kube-system logs bulkhead-scope-sync-" + s.Host})
		}
	}
	for _, f := range []Finding{pending, unused} {
		if len(f.Names) > 0 {
			found = append(found, f)
		}
	}
	return found, nil
}

// checkLease reports a Lease that its installer has not renewed. Its installer was killed, because one
// that ends deletes it. A Lease that is valid is a note: other findings may be about that run.
func checkLease(ctx context.Context, in *inputs) ([]Finding, error) {
	lease, err := readLease(ctx, in.Client)
	if lease == nil || err != nil {
		return nil, err
	}
	holder := "an unknown host"
	if id := lease.Spec.HolderIdentity; id != nil && *id != "" {
		holder, _, _ = strings.Cut(*id, "/")
	}
	end, known := hosts.LeaseEnd(lease, in.Now())
	if known && in.Now().Before(end) {
		return []Finding{{Severity: Note, Names: []string{holder},
			Problem: "`bulkhead install` or `bulkhead uninstall` runs now",
			Means:   "some findings can be about a step that is not finished",
			Repair:  "run `bulkhead doctor` again when it has ended"}}, nil
	}
	f := Finding{Severity: Soon, Names: []string{holder},
		Problem: "the Lease bulkhead-installer of an interrupted run is left over",
		Repair:  "run `bulkhead install` on this host again: it first undoes what the interrupted run has changed"}
	if expired(lease, in.Now()) {
		f.fix = leaseFix(in.Client, lease, in.Now)
	}
	return []Finding{f}, nil
}

func readLease(ctx context.Context, client leaseClient) (*coordinationv1.Lease, error) {
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, hosts.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read Lease %s in kube-system: %w", hosts.LeaseName, err)
	}
	return lease, nil
}
