// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/internal/supported"
)

const installAgain = "run `bulkhead install` on each control-plane host again"

func checkVersion(_ context.Context, in *inputs) ([]Finding, error) {
	found, err := judgeVersion(in.serverVersion)
	if err != nil {
		return nil, err
	}
	r, err := in.report()
	if err != nil {
		return found, err
	}
	images := map[string][]string{}
	for _, h := range r.Hosts {
		if h.APIServer != nil {
			images[h.APIServer.Image] = append(images[h.APIServer.Image], h.Node)
		}
	}
	if len(images) > 1 {
		var parts []string
		for _, image := range slices.Sorted(maps.Keys(images)) {
			parts = append(parts, image+" on "+strings.Join(images[image], ", "))
		}
		found = append(found, Finding{Severity: Note,
			Problem: "API servers have different images: " + strings.Join(parts, "; "),
			Means:   "an upgrade of Kubernetes is not finished", Repair: "finish the upgrade of the control plane"})
	}
	return found, nil
}

func judgeVersion(gitVersion string) ([]Finding, error) {
	v, err := version.ParseGeneric(gitVersion)
	if err != nil {
		return nil, fmt.Errorf("cannot read the version of kube-apiserver: %w", err)
	}
	newer, err := supported.Newer(gitVersion)
	switch {
	case err != nil:
		return nil, err
	case supported.IsTooOld(v):
		return []Finding{{Severity: Urgent, Problem: "kube-apiserver " + gitVersion + " is older than " + supported.Oldest,
			Means:  "it does not send field selectors to authorizers, so node-authorizer cannot limit lists and watches",
			Repair: "upgrade Kubernetes"}}, nil
	case newer:
		return []Finding{{Severity: Soon, Problem: "kube-apiserver " + gitVersion + " is newer than " +
			supported.TestedText() + ", the newest version that Bulkhead is tested on",
			Means: "a node's request for a resource that no rule names is reported, and not denied, unless " +
				"--unknown-resources=deny is set",
			Repair: "upgrade Bulkhead"}}, nil
	case !supported.IsTested(v):
		return []Finding{{Severity: Note, Problem: "kube-apiserver is " + gitVersion + "; Bulkhead is tested on " +
			supported.TestedText(), Repair: "no action is needed; upgrade Kubernetes when you can"}}, nil
	}
	return nil, nil
}

// checkAuthorizer asks one API server, the one that the kubeconfig reaches.
func checkAuthorizer(ctx context.Context, in *inputs) ([]Finding, error) {
	installed, err := in.installed()
	if err != nil || len(installed) == 0 {
		return nil, err
	}
	decision, err := in.Server.CanaryDecision(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the API server about a node: %w", err)
	}
	const logs = "kubectl -n kube-system logs -l app.kubernetes.io/component=node-authorizer"
	switch {
	case strings.Contains(decision.Reason, "[NA-UNREADY]"):
		return []Finding{{Severity: Urgent, Problem: "node-authorizer is not ready: it abstains [NA-UNREADY]", Repair: logs +
			" says which watch has not answered"}}, nil
	case !strings.Contains(decision.Reason, "[NA-"):
		return []Finding{{Severity: Urgent,
			Problem: fmt.Sprintf("node-authorizer does not decide: the API server answers %q",
				strings.TrimSpace(decision.Reason+" "+decision.EvaluationError)),
			Repair: logs + "; if it runs, " + installAgain}}, nil
	}
	return nil, nil
}

// checkWebhook reads the metrics of one API server, the one that the kubeconfig reaches.
func checkWebhook(ctx context.Context, in *inputs) ([]Finding, error) {
	installed, err := in.installed()
	if err != nil || len(installed) == 0 {
		return nil, err
	}
	process, err := in.Server.Process(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the metrics of the API server: %w", err)
	}
	var found []Finding
	if process.Skipped != "" && process.Skipped != "0" {
		found = append(found, Finding{Severity: Soon, Problem: "kube-apiserver has admitted " + process.Skipped +
			" writes of nodes without node-restriction, because it could not call it",
			Means: "only in-tree NodeRestriction has checked these writes. The number is 0 again after a restart of " +
				"kube-apiserver",
			Repair: "read the log of kube-apiserver for the cause, and the audit log for these writes"})
	}
	found = append(found, judgeFile(process.AuthorizationHash, installed)...)
	if process.AdmissionHash != "" {
		return found, nil
	}
	more, err := judgeRegistration(ctx, in, installed[0])
	return append(found, more...), err
}

// judgeFile compares the authorization file in force with those of the installer. With node scope, the
// file also has the accounts, so it cannot be compared. `kubeadm upgrade` removes the annotations.
func judgeFile(inForce string, installed []clusterstatus.Host) []Finding {
	var written []string
	for _, h := range installed {
		if h.APIServer != nil && h.APIServer.AuthorizationConfigSHA256 != "" {
			written = append(written, h.APIServer.AuthorizationConfigSHA256)
		}
	}
	if inForce == "" || hasScopes(installed) || len(written) < len(installed) || slices.Contains(written, inForce) {
		return nil
	}
	return []Finding{{Severity: Urgent, Problem: "kube-apiserver uses another authorization file than the installer has " +
		"written: its SHA-256 is " + clusterstatus.Short(inForce),
		Means:  "the order, the failure policy or the match conditions of the authorizers can be others",
		Repair: installAgain}}
}

// judgeRegistration is for a server that does not read webhooks from disk.
func judgeRegistration(ctx context.Context, in *inputs, h clusterstatus.Host) ([]Finding, error) {
	have, err := controlplane.Registration(ctx, in.Server)
	if err != nil {
		return nil, fmt.Errorf("cannot read ValidatingWebhookConfigurations: %w", err)
	}
	if have == nil {
		return []Finding{{Severity: Urgent, Problem: "node-restriction is not registered: kube-apiserver uses no webhook " +
			"from disk, and the API has no ValidatingWebhookConfiguration node-restriction.bulkhead.dev",
			Repair: installAgain}}, nil
	}
	changed, ignores, err := controlplane.JudgeRegistration(have, controlplane.Profile(h.Entry.Profile))
	if err != nil {
		return nil, err
	}
	switch {
	case changed && in.Version != h.Entry.Version:
		return nil, otherVersion(in, h)
	case changed:
		return []Finding{{Severity: Urgent, Problem: "ValidatingWebhookConfiguration node-restriction.bulkhead.dev is not " +
			"as installed: a user has changed its rules, selectors, conditions or failure policy", Repair: installAgain}}, nil
	case ignores && h.Entry.Mode != hosts.Audit:
		return []Finding{{Severity: Note, Problem: "node-restriction is registered with failure policy Ignore",
			Means: "while node-restriction does not answer, only in-tree NodeRestriction checks the writes of nodes",
			Repair: "no action is needed if you chose --node-restriction-failure-policy=Ignore; otherwise " +
				installAgain}}, nil
	}
	return nil, nil
}

func checkTokens(ctx context.Context, in *inputs) ([]Finding, error) {
	if in.Metrics == nil {
		return nil, nil
	}
	count, err := preflight.StaleTokens(ctx, in.Metrics)
	if err != nil {
		return nil, fmt.Errorf("cannot read the metric serviceaccount_stale_tokens_total: %w", err)
	}
	if count == 0 {
		return nil, nil
	}
	return []Finding{{Severity: Note, Problem: fmt.Sprintf("%.0f requests had a token that should have expired", count),
		Repair: "find the clients in the audit log by the annotation authentication.k8s.io/stale-token, and update or " +
			"restart them; then install without --extend-token-expiration"}}, nil
}
