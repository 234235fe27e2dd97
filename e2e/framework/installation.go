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
	// RestrictionManifest is node-restriction's.
	RestrictionManifest = "/etc/kubernetes/manifests/bulkhead-node-restriction.yaml"
)

// TerminatedPodGrace is how long a pod gives rights after its end, unless the
// installer is told otherwise.
const TerminatedPodGrace = 30 * time.Second

// Installation is what `bulkhead install` was last told on a host.
type Installation struct {
	Profile      Profile `json:"profile"`
	Image        string  `json:"image"`
	Certificates struct {
		Validity    time.Duration `json:"validity"`
		RenewBefore time.Duration `json:"renewBefore"`
	} `json:"certificates"`
	// Beyond is what it was told about the optional rules.
	Beyond Beyond `json:"beyondUpstream"`
	// NodeScope is what it was told about accounts that are held to nodes.
	NodeScope struct {
		On              bool   `json:"on"`
		CustomResources string `json:"customResources"`
	} `json:"nodeScope"`
}

// Beyond is about the rules that upstream does not have. What is zero is the
// profile's affair.
type Beyond struct {
	Mode                     string            `json:"mode"`
	RuleModes                map[string]string `json:"ruleModes"`
	TerminatedPodGrace       *time.Duration    `json:"terminatedPodGrace"`
	CredentialProviderTokens *bool             `json:"credentialProviderTokens"`
}

// flags say it again, for an installation keeps what it was told last. An empty
// value forgets that.
func (b Beyond) flags() string {
	var modes []string
	for _, id := range slices.Sorted(maps.Keys(b.RuleModes)) {
		modes = append(modes, id+"="+b.RuleModes[id])
	}
	flags := fmt.Sprintf(" --beyond-upstream=%s --rule-mode=%s", b.Mode, strings.Join(modes, ","))
	if b.TerminatedPodGrace != nil {
		flags += fmt.Sprintf(" --terminated-pod-grace=%s", *b.TerminatedPodGrace)
	}
	if b.CredentialProviderTokens != nil {
		flags += fmt.Sprintf(" --credential-provider-tokens=%t", *b.CredentialProviderTokens)
	}
	return flags
}

// ReadInstallation reads the installer's own record, or returns the in-tree
// profile where nothing of ours is installed.
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

// Command is the shell command that makes the host what the installation says.
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
	return command + in.Beyond.flags()
}

// Auditing is the installation whose optional rules only watch, and where a pod
// gives no rights any more so long after its end.
func (in Installation) Auditing(grace time.Duration) Installation {
	in.Beyond = Beyond{Mode: "audit", TerminatedPodGrace: &grace,
		CredentialProviderTokens: in.Beyond.CredentialProviderTokens}
	return in
}

// Undoing is the installation that makes the host what it was before another one
// was told a grace: that cannot be forgotten, so the usual one is named.
func (in Installation) Undoing() Installation {
	if in.Beyond.TerminatedPodGrace == nil {
		usual := TerminatedPodGrace
		in.Beyond.TerminatedPodGrace = &usual
	}
	return in
}

// LivingFor is the installation with certificates that live so long.
func (in Installation) LivingFor(validity, renewBefore time.Duration) Installation {
	in.Certificates.Validity, in.Certificates.RenewBefore = validity, renewBefore
	return in
}

// Enforcing is the installation with these optional rules enforced.
func (in Installation) Enforcing(ids ...rules.ID) Installation {
	modes := maps.Clone(in.Beyond.RuleModes)
	if modes == nil {
		modes = map[string]string{}
	}
	for _, id := range ids {
		modes[string(id)] = rules.Enforce.String()
	}
	in.Beyond.RuleModes = modes
	return in
}
