// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

// checkBindings judges as `bulkhead preflight` does.
func checkBindings(ctx context.Context, in *inputs) ([]Finding, error) {
	installed, err := in.installed()
	if err != nil || len(installed) == 0 {
		return nil, err
	}
	bindings, err := preflight.Bindings(ctx, preflight.Input{Client: in.Client, Profile: installed[0].Entry.Profile})
	if err != nil {
		return nil, err
	}
	found := fromPreflight(bindings, "kubectl edit the binding and remove the subject, or delete the binding")
	nameless, err := preflight.NamelessNodes(ctx, preflight.Input{Client: in.Client})
	found = append(found, fromPreflight(nameless, "give the kubelet a certificate for system:node:<name>")...)
	if err != nil || !hasScopes(installed) {
		return found, err
	}
	editors, err := preflight.ScopeEditors(ctx, in.Client)
	if len(editors) > 0 {
		found = append(found, Finding{Severity: Soon, Names: editors, Problem: "all accounts may write ServiceAccounts",
			Means:  "an account without a scope can remove the node scope of another account",
			Repair: "remove the groups of all accounts from these bindings"})
	}
	return found, err
}

func otherVersion(in *inputs, h clusterstatus.Host) error {
	return fmt.Errorf("this program is version %s, but host %s has %s: use the program of that version", in.Version,
		h.Node, h.Entry.Version)
}

// hasScopes reports whether scope-sync runs on a host.
func hasScopes(installed []clusterstatus.Host) bool {
	return slices.ContainsFunc(installed, func(h clusterstatus.Host) bool {
		return slices.ContainsFunc(h.Components, func(c clusterstatus.Component) bool { return c.Name == scope.SyncName })
	})
}

func fromPreflight(all []preflight.Finding, repair string) []Finding {
	var found []Finding
	for _, f := range all {
		switch f.Level {
		case preflight.Fail:
			found = append(found, Finding{Severity: Urgent, Problem: f.Detail, Repair: repair})
		case preflight.Warn:
			found = append(found, Finding{Severity: Soon, Problem: f.Detail, Repair: repair})
		case preflight.OK:
		}
	}
	return found
}

// checkObjects compares only objects that depend on no setting of a host, and only with those of the
// same version: another version may have other rights.
func checkObjects(ctx context.Context, in *inputs) ([]Finding, error) {
	installed, err := in.installed()
	if err != nil || len(installed) == 0 {
		return nil, err
	}
	for _, h := range installed {
		if h.Entry.Version != in.Version {
			return nil, otherVersion(in, h)
		}
	}
	objects, err := controlplane.SharedObjects(in.status.Proxy != nil)
	if err != nil {
		return nil, err
	}
	missing := Finding{Severity: Urgent, Problem: "the API lacks these objects of Bulkhead",
		Repair: "run `bulkhead install` on a control-plane host again, or use the fix"}
	changed := Finding{Severity: Urgent, Problem: "these objects of Bulkhead are not as installed", Repair: missing.Repair}
	fix := &objectsFix{server: in.Server}
	for _, want := range objects {
		have, err := in.Server.Get(ctx, want)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s %s: %w", want.GetKind(), want.GetName(), err)
		}
		if controlplane.Installed(have, want) {
			continue
		}
		name := strings.TrimPrefix(want.GetNamespace()+"/"+want.GetName(), "/")
		problem := &changed
		if have == nil {
			problem = &missing
		}
		problem.Names = append(problem.Names, want.GetKind()+" "+name)
		fix.wanted = append(fix.wanted, want)
	}
	var found []Finding
	for _, f := range []Finding{missing, changed} {
		if len(f.Names) > 0 {
			f.fix = fix.fix(in.Client, in.Now)
			found = append(found, f)
		}
	}
	return found, nil
}
