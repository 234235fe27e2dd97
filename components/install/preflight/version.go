// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/bulkhead-k8s/bulkhead/components/internal/supported"
)

func versionFindings(ctx context.Context, in Input) ([]Finding, error) {
	const check = "kube-apiserver version"
	info, err := in.Client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking kube-apiserver for its version: %w", err)
	}
	v, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("reading kube-apiserver's version: %w", err)
	}
	if !in.Server.ReadsManifests(info.GitVersion) && in.Profile == "parity" {
		return []Finding{{Fail, check,
				info.GitVersion + ": it takes no admission webhook from disk (it does from 1.37 on, unless the feature gate " +
					"ManifestBasedAdmissionControlConfig is off), and parity has no other check of what nodes write; use hardened"}},
			nil
	}
	if several, err := severalWithoutManifests(ctx, in, info.GitVersion); err != nil || several != "" {
		return []Finding{{Fail, check, several}}, err
	}
	if newer, err := supported.Newer(info.GitVersion); err != nil || newer {
		return []Finding{{Warn, check, newerThanTested(in, info.GitVersion)}}, err
	}
	if emulated, set := in.Server.Arg("emulated-version"); set {
		return []Finding{{Warn, check,
			fmt.Sprintf("%s, emulating %s: field selectors reach authorizers from 1.34 on", info.GitVersion, emulated)}}, nil
	}
	switch {
	case supported.IsTooOld(v):
		return []Finding{{Fail, check, info.GitVersion + ": older than " + supported.Oldest +
			", it does not tell authorizers about field selectors; upgrade first"}}, nil
	case !supported.IsTested(v):
		return []Finding{{Warn, check, info.GitVersion + ": Bulkhead was not run on it; the rules are tested against " +
			supported.TestedText() + registration(in, info.GitVersion)}}, nil
	case !in.Server.ReadsManifests(info.GitVersion):
		return []Finding{{Warn, check, info.GitVersion + registration(in, info.GitVersion)}}, nil
	}
	return []Finding{{OK, check, info.GitVersion}}, nil
}

// severalWithoutManifests returns an error message if the cluster has several control-plane hosts
// and its servers do not read webhooks from disk. All servers would use one registration, which
// contains the CA of only one host.
func severalWithoutManifests(ctx context.Context, in Input, version string) (string, error) {
	if in.Server.ReadsManifests(version) {
		return "", nil
	}
	hosts, err := in.Client.CoreV1().Nodes().List(ctx,
		metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane"})
	if err != nil {
		return "", fmt.Errorf("listing control-plane nodes: %w", err)
	}
	if len(hosts.Items) < 2 {
		return "", nil
	}
	return fmt.Sprintf("%s on %d control-plane hosts: it takes no admission webhook from disk (it does from 1.37 on), "+
		"and a registration through the API is for one host. Upgrade the control plane to 1.37 first, or switch the "+
		"feature gate ManifestBasedAdmissionControlConfig on where it is off", version, len(hosts.Items)), nil
}

// newerThanTested describes what node-authorizer does with a Kubernetes that it does not know.
func newerThanTested(in Input, gitVersion string) string {
	text := gitVersion + ": newer than " + supported.TestedText() +
		", the newest version that the rules are tested against. "
	switch {
	case in.Profile != "hardened":
		return text + "A node's request for a resource that no rule names is left to RBAC, as in every version" +
			registration(in, gitVersion)
	case in.DenyUnknown:
		return text + "A node's request for a resource that no rule names is denied (--unknown-resources=deny): a kubelet " +
			"of that version may need one" + registration(in, gitVersion)
	}
	return text + "A node's request for a resource that no rule names is not denied: it is reported under NA-DEFAULT, " +
		"and the in-tree Node authorizer and RBAC decide, as without Bulkhead. Requests for all other resources are " +
		"decided as before. bulkhead audit lists the reported requests. Upgrade Bulkhead, or set --unknown-resources=deny" +
		registration(in, gitVersion)
}

// registration warns about a server that does not read webhooks from disk.
func registration(in Input, version string) string {
	if in.Server.ReadsManifests(version) {
		return ""
	}
	return ". It takes no admission webhook from disk, so node-restriction is registered through the API: a user who " +
		"may delete a ValidatingWebhookConfiguration can remove it"
}
