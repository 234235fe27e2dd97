// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Paths on a control-plane host that an installation uses.
const (
	APIServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	ComponentManifest = "/etc/kubernetes/manifests/bulkhead-node-authorizer.yaml"
	StateDirectory    = "/etc/kubernetes/bulkhead"
	// RestrictionManifest is the manifest of node-restriction.
	RestrictionManifest = "/etc/kubernetes/manifests/bulkhead-node-restriction.yaml"
)

// TerminatedPodGrace is the installer's default for how long a pod gives rights after its end.
const TerminatedPodGrace = 30 * time.Second

// Installation is the last input of `bulkhead install` on a host.
type Installation struct {
	Profile      Profile `json:"profile"`
	Image        string  `json:"image"`
	Certificates struct {
		Validity    time.Duration `json:"validity"`
		RenewBefore time.Duration `json:"renewBefore"`
	} `json:"certificates"`
	// Policy says whether the user has chosen the configuration file of node-restriction.
	Policy struct {
		Own bool `json:"own"`
	} `json:"policy"`
	// Extensions holds the options for the optional rules.
	Extensions Extensions `json:"beyondUpstream"`
	// NodeScope holds the options for accounts with a node scope.
	NodeScope struct {
		On              bool   `json:"on"`
		CustomResources string `json:"customResources"`
	} `json:"nodeScope"`
}

// Extensions is about the rules that upstream does not have. A zero field means the profile's
// default.
type Extensions struct {
	AuditOnly                bool              `json:"auditOnly"`
	ExtendTokens             bool              `json:"extendTokens"`
	IgnoreFailures           bool              `json:"ignoreFailures"`
	DenyUnknown              bool              `json:"denyUnknownResources"`
	Mode                     string            `json:"mode"`
	RuleModes                map[string]string `json:"ruleModes"`
	TerminatedPodGrace       *time.Duration    `json:"terminatedPodGrace"`
	CredentialProviderTokens *bool             `json:"credentialProviderTokens"`
}

// flags returns all flags again, because an installation keeps the values of the last run. An empty
// value resets a flag. Another value of --rule-mode keeps the modes of other rules, so that flag is reset first.
func (b Extensions) flags() string {
	modes := ""
	for _, id := range slices.Sorted(maps.Keys(b.RuleModes)) {
		modes += " --rule-mode=" + id + "=" + b.RuleModes[id]
	}
	mode := "enforce"
	if b.AuditOnly {
		mode = "audit"
	}
	failurePolicy, unknown := "Fail", "audit-on-newer-kubernetes"
	if b.IgnoreFailures {
		failurePolicy = "Ignore"
	}
	if b.DenyUnknown {
		unknown = "deny"
	}
	flags := fmt.Sprintf(" --mode=%s --extend-token-expiration=%t --node-restriction-failure-policy=%s "+
		"--unknown-resources=%s --beyond-upstream=%s --rule-mode=%s", mode, b.ExtendTokens, failurePolicy, unknown, b.Mode,
		modes)
	if b.TerminatedPodGrace != nil {
		flags += fmt.Sprintf(" --terminated-pod-grace=%s", *b.TerminatedPodGrace)
	}
	if b.CredentialProviderTokens != nil {
		flags += fmt.Sprintf(" --credential-provider-tokens=%t", *b.CredentialProviderTokens)
	}
	return flags
}

// ReadInstallation reads the installer's own record. It returns the in-tree profile where Bulkhead
// is not installed.
func (c *Cluster) ReadInstallation(ctx context.Context) (Installation, error) {
	in := Installation{Profile: InTree}
	record, err := c.Host.Run(ctx, c.ControlPlane, "cat "+StateDirectory+"/state/record.json 2>/dev/null || true")
	if err != nil || strings.TrimSpace(record) == "" {
		return in, err
	}
	if err := json.Unmarshal([]byte(record), &in); err != nil {
		return in, fmt.Errorf("reading the record of the installation: %w", err)
	}
	return in, nil
}

// Command returns the shell command that applies this installation to the host.
func (in Installation) Command() string {
	if in.Profile == InTree {
		return "bulkhead uninstall"
	}
	command := fmt.Sprintf("bulkhead install --profile=%s --image='%s'", in.Profile, in.Image)
	if in.Certificates.Validity > 0 {
		command += fmt.Sprintf(" --cert-validity=%s --cert-renew-before=%s", in.Certificates.Validity,
			in.Certificates.RenewBefore)
	}
	if in.NodeScope.On {
		command += fmt.Sprintf(" --node-scope --node-scope-custom-resources='%s'", in.NodeScope.CustomResources)
	}
	return command + in.Extensions.flags()
}

// Auditing returns the installation with its optional rules in audit mode and with the given grace
// after a pod's end.
func (in Installation) Auditing(grace time.Duration) Installation {
	in.Extensions = Extensions{Mode: "audit", TerminatedPodGrace: &grace,
		CredentialProviderTokens: in.Extensions.CredentialProviderTokens}
	return in
}

// Undoing returns the installation that restores the host after another installation set a grace.
// The installer cannot reset the grace, so the default value is given explicitly.
func (in Installation) Undoing() Installation {
	if in.Extensions.TerminatedPodGrace == nil {
		usual := TerminatedPodGrace
		in.Extensions.TerminatedPodGrace = &usual
	}
	return in
}

// LivingFor returns the installation with certificates of this validity and renewal time.
func (in Installation) LivingFor(validity, renewBefore time.Duration) Installation {
	in.Certificates.Validity, in.Certificates.RenewBefore = validity, renewBefore
	return in
}

// Enforcing returns the installation with these optional rules enforced.
func (in Installation) Enforcing(ids ...rules.ID) Installation {
	modes := maps.Clone(in.Extensions.RuleModes)
	if modes == nil {
		modes = map[string]string{}
	}
	for _, id := range ids {
		modes[string(id)] = rules.Enforce.String()
	}
	in.Extensions.RuleModes = modes
	return in
}
