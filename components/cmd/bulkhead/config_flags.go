// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// readConfig reads a file of kind Installation. "-" is the standard input.
func readConfig(path string, in io.Reader) (*installation.Installation, error) {
	data, err := readInput(path, in, 2)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	config, err := installation.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("invalid configuration %s:\n%w", path, err)
	}
	return config, nil
}

// configFlags returns the flags of `bulkhead install` with the values of the file. A field that is
// absent has the default value. So the installation does not depend on the one before.
func configFlags(c *installation.Installation) map[string]string {
	var modes []string
	for _, id := range slices.Sorted(maps.Keys(c.Rules.Modes)) {
		modes = append(modes, id+"="+c.Rules.Modes[id])
	}
	return map[string]string{
		"profile":                    cmp.Or(c.Profile, string(controlplane.Hardened)),
		"image":                      cmp.Or(c.Image, defaultImage(buildVersion())),
		"timeout":                    orDuration(c.Timeout, defaultTimeout),
		modeFlag:                     cmp.Or(c.Mode, enforceMode),
		auditForFlag:                 orDuration(c.AuditFor, controlplane.DefaultAuditFor),
		extendTokensFlag:             fmt.Sprint(c.ServiceAccountTokens.ExtendExpiration),
		failurePolicyFlag:            cmp.Or(c.NodeRestriction.FailurePolicy, failPolicy),
		unknownResourcesFlag:         cmp.Or(c.Rules.UnknownResources, auditOnNewer),
		"beyond-upstream":            c.Rules.Mode,
		ruleModeFlag:                 strings.Join(modes, ","),
		"terminated-pod-grace":       orDuration(c.Rules.TerminatedPodGrace, defaultGrace),
		"credential-provider-tokens": fmt.Sprint(c.Rules.CredentialProviderTokens),
		"cert-validity":              orDuration(c.Certificates.Validity, controlPlaneCertificates.Validity),
		"cert-renew-before":          orDuration(c.Certificates.RenewBefore, controlPlaneCertificates.RenewBefore),
		kubeletAPIFlag:               fmt.Sprint(c.KubeletAPI.Enabled == nil || *c.KubeletAPI.Enabled),
		proxyFlagsFlag:               proxyFlagsOf(c.KubeletAPI),
		nodeSelectorFlag:             c.KubeletAPI.NodeSelector,
		loopbackFlag:                 c.KubeletAPI.LoopbackClients,
		nodeScopeFlag:                fmt.Sprint(c.NodeScope.Enabled),
		customResourcesFlag:          strings.Join(c.NodeScope.CustomResources, ","),
	}
}

// unsetFlags returns the flags that neither the file nor the record sets. The installer distinguishes
// that from a default.
func unsetFlags(c *installation.Installation, r *controlplane.Record) map[string]bool {
	return map[string]bool{
		"terminated-pod-grace":       c.Rules.TerminatedPodGrace == nil && r.Extensions.TerminatedPodGrace == nil,
		"credential-provider-tokens": !c.Rules.CredentialProviderTokens && r.Extensions.CredentialProviderTokens == nil,
		kubeletAPIFlag:               c.KubeletAPI.Enabled == nil && r.KubeletAPI == nil,
	}
}

func orDuration(d *metav1.Duration, otherwise time.Duration) string {
	if d == nil {
		return otherwise.String()
	}
	return d.Duration.String()
}

// applyConfig sets the flags that the user did not set, and reports those that override the file.
func (f *hostFlags) applyConfig(out io.Writer, fs *pflag.FlagSet, c *installation.Installation) error {
	record, err := f.lastRecord()
	if err != nil {
		return err
	}
	values, unset := configFlags(c), unsetFlags(c, record)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		flag := fs.Lookup(name)
		if flag == nil {
			return fmt.Errorf("there is no flag --%s", name)
		}
		if flag.Changed {
			_, _ = fmt.Fprintf(out, "--%s=%s %s the configuration, which has %q\n", name, flag.Value, effectOn(flag.Value),
				values[name])
			continue
		}
		if unset[name] {
			continue
		}
		if err := fs.Set(name, values[name]); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	if modes, ok := fs.Lookup(ruleModeFlag).Value.(*ruleModes); ok {
		modes.useFile(c.Rules.Modes)
	}
	return nil
}

// effectOn says what a flag that the user set does with the file.
func effectOn(flag pflag.Value) string {
	if modes, ok := flag.(*ruleModes); ok && !modes.reset {
		return "changes single rules of"
	}
	return "overrides"
}

// configPolicy returns the configuration of node-restriction in the file. Without one, the file of
// the profile is restored. A file on the host that differs only in layout is not written again.
func configPolicy(l host.Layout, c *installation.Installation) (controlplane.Policy, error) {
	want, err := c.Policy()
	if err != nil || want == nil {
		return controlplane.Policy{Reset: true}, err
	}
	if have, exists, err := atomicfile.Read(l.RestrictionPolicy()); err == nil && exists {
		installed := installation.Installation{}
		if installed.SetPolicy(have.Data) == nil {
			if same, err := installed.Policy(); err == nil && bytes.Equal(same, want) {
				want = have.Data
			}
		}
	}
	return controlplane.Policy{Own: true, File: want}, nil
}

// withDefaults returns a copy in which every field with a default has a value.
func withDefaults(c *installation.Installation) *installation.Installation {
	all := *c
	profile := controlplane.Profile(cmp.Or(c.Profile, string(controlplane.Hardened)))
	all.Profile = string(profile)
	if profile == controlplane.InTree {
		return &all
	}
	yes := true
	all.Image = cmp.Or(c.Image, defaultImage(buildVersion()))
	all.Timeout = cmp.Or(c.Timeout, &metav1.Duration{Duration: defaultTimeout})
	all.Mode = cmp.Or(c.Mode, enforceMode)
	all.AuditFor = cmp.Or(c.AuditFor, &metav1.Duration{Duration: controlplane.DefaultAuditFor})
	all.Rules.Mode = cmp.Or(c.Rules.Mode, profile.ExtensionMode().String())
	all.NodeRestriction.FailurePolicy = cmp.Or(c.NodeRestriction.FailurePolicy, failPolicy)
	all.Rules.UnknownResources = cmp.Or(c.Rules.UnknownResources, auditOnNewer)
	all.Rules.TerminatedPodGrace = cmp.Or(c.Rules.TerminatedPodGrace, &metav1.Duration{Duration: defaultGrace})
	all.Certificates.Validity = cmp.Or(c.Certificates.Validity,
		&metav1.Duration{Duration: controlPlaneCertificates.Validity})
	all.Certificates.RenewBefore = cmp.Or(c.Certificates.RenewBefore,
		&metav1.Duration{Duration: controlPlaneCertificates.RenewBefore})
	if profile == controlplane.Hardened {
		all.KubeletAPI.Enabled = cmp.Or(c.KubeletAPI.Enabled, &yes)
	}
	if guardsKubelets(&all) { // otherwise, its settings have no effect
		inMode := controlplane.Extensions{AuditOnly: all.Mode == auditMode,
			LoopbackClients: node.LoopbackClients(c.KubeletAPI.LoopbackClients)}
		all.KubeletAPI.LoopbackClients = inMode.NodeLoopbackClients().String()
		all.KubeletAPI.Authentication.X509.ExpiredRevocationLists = cmp.Or(
			c.KubeletAPI.Authentication.X509.ExpiredRevocationLists, inMode.ExpiredRevocationLists())
		setProxyDefaults(&all.KubeletAPI)
	}
	return &all
}

// guardsKubelets reports whether an Installation with defaults has kubelet-auth-proxy.
func guardsKubelets(c *installation.Installation) bool {
	return c.Profile == string(controlplane.Hardened) && *c.KubeletAPI.Enabled
}
