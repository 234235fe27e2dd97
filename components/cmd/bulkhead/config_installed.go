// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// installedConfig returns the configuration that installs again what is installed on this host.
func installedConfig(l host.Layout, r *controlplane.Record) (*installation.Installation, error) {
	c := &installation.Installation{APIVersion: installation.APIVersion, Kind: installation.Kind}
	if r == nil {
		c.Profile = string(controlplane.InTree)
		return c, nil
	}
	c.Profile, c.Image = string(r.Profile), r.Image
	setExtensions(c, r.Extensions)
	// A record of an old version has no times.
	if r.Certificates.Validity > 0 {
		c.Certificates.Validity = &metav1.Duration{Duration: r.Certificates.Validity}
	}
	if r.Certificates.RenewBefore > 0 {
		c.Certificates.RenewBefore = &metav1.Duration{Duration: r.Certificates.RenewBefore}
	}
	c.NodeScope.Enabled = r.NodeScope.On
	if r.NodeScope.CustomResources != "" {
		c.NodeScope.CustomResources = strings.Split(r.NodeScope.CustomResources, ",")
	}
	if err := setKubeletAPI(&c.KubeletAPI, r); err != nil {
		return nil, err
	}
	return c, setInstalledPolicy(c, l, r)
}

// setKubeletAPI leaves out settings without effect, which a file must not have.
func setKubeletAPI(k *installation.KubeletAPI, r *controlplane.Record) error {
	off := r.KubeletAPI != nil && !*r.KubeletAPI
	if off || r.Profile == controlplane.Hardened {
		k.Enabled = r.KubeletAPI
	}
	if off || r.Profile != controlplane.Hardened {
		return nil
	}
	k.NodeSelector = r.Extensions.NodeSelector
	k.LoopbackClients = r.Extensions.LoopbackClients.String()
	return setProxyFlags(k, r.Extensions.ProxyFlags)
}

// setExtensions sets the fields for the recorded extensions, except the flags of kubelet-auth-proxy.
func setExtensions(c *installation.Installation, r controlplane.Extensions) {
	if r.AuditOnly {
		c.Mode = auditMode
	}
	if r.AuditFor > 0 {
		c.AuditFor = &metav1.Duration{Duration: r.AuditFor}
	}
	if r.IgnoreFailures {
		c.NodeRestriction.FailurePolicy = ignorePolicy
	}
	if r.DenyUnknown {
		c.Rules.UnknownResources = denyUnknown
	}
	c.ServiceAccountTokens.ExtendExpiration = r.ExtendTokens && c.Profile == string(controlplane.Hardened)
	c.Rules.Mode, c.Rules.Modes = r.Mode, r.RuleModes
	if grace := r.TerminatedPodGrace; grace != nil {
		c.Rules.TerminatedPodGrace = &metav1.Duration{Duration: *grace}
	}
	if tokens := r.CredentialProviderTokens; tokens != nil {
		c.Rules.CredentialProviderTokens = *tokens
	}
}

// setInstalledPolicy sets nodePolicy if it is not the file of the profile: the user has chosen it, or
// has edited it in place.
func setInstalledPolicy(c *installation.Installation, l host.Layout, r *controlplane.Record) error {
	file, exists, err := atomicfile.Read(l.RestrictionPolicy())
	switch {
	case err != nil:
		return fmt.Errorf("cannot read node-restriction's configuration: %w", err)
	case exists && (r.Policy.Own || r.Policy.Written != "" && journal.Hash(file.Data) != r.Policy.Written):
		if err := c.SetPolicy(file.Data); err != nil {
			return fmt.Errorf("cannot read node-restriction's configuration %s: %w", l.RestrictionPolicy(), err)
		}
		return nil
	case r.Policy.Own:
		return fmt.Errorf("cannot read node-restriction's configuration: %s does not exist", l.RestrictionPolicy())
	}
	return nil
}
