// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rulebook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Here is what a cluster has: the profile and the modes of each control-plane host.
type Here struct{ hosts []hostModes }

type hostModes struct {
	node    string
	profile controlplane.Profile
	set     controlplane.Extensions
}

// errNotRecorded is returned for a cluster without an entry of a host.
var errNotRecorded = errors.New("ConfigMap kube-system/" + hosts.ConfigMapName + " has no host: Bulkhead is not " +
	"installed, or was installed without `bulkhead install`")

// ReadHere reads what the installer has recorded in ConfigMap bulkhead-hosts. It leaves out hosts whose
// entry cannot be read. It returns an error if there is none that can.
func ReadHere(ctx context.Context, configs hosts.ConfigMaps) (*Here, error) {
	entries, err := hosts.Entries(ctx, configs)
	if err != nil {
		return nil, err
	}
	known, unknown := hosts.Parse(entries)
	here := &Here{}
	for _, node := range slices.Sorted(maps.Keys(known)) {
		set, err := controlplane.ParseIn(known[node].Modes)
		if err != nil {
			unknown[node] = err
			continue
		}
		set.AuditOnly = known[node].Mode == hosts.Audit
		here.hosts = append(here.hosts, hostModes{node, controlplane.Profile(known[node].Profile), set})
	}
	if len(here.hosts) > 0 {
		return here, nil
	}
	for _, node := range slices.Sorted(maps.Keys(unknown)) {
		return nil, fmt.Errorf("%s", webhook.Printable(unknown[node].Error(), 512))
	}
	return nil, errNotRecorded
}

// Profile returns the profile of the first host.
func (h *Here) Profile() controlplane.Profile { return h.hosts[0].profile }

// Mode returns the mode of a rule in this cluster. If hosts differ, it names them.
func (h *Here) Mode(r rules.Rule) string {
	modes := map[string][]string{}
	for _, host := range h.hosts {
		mode := modeIn(host.profile, host.set, r)
		if host.set.AuditOnly {
			mode = auditOnly(r, mode)
		}
		modes[mode] = append(modes[mode], webhook.Loggable(host.node))
	}
	texts := slices.Sorted(maps.Keys(modes))
	if len(texts) == 1 {
		return texts[0]
	}
	for i, mode := range texts {
		texts[i] = mode + " on " + strings.Join(modes[mode], ", ")
	}
	return strings.Join(texts, "; ")
}

// auditOnly is the mode of a rule in an installation that denies only what was denied before. Revoked
// credentials are denied there too, and kubelet-auth-proxy denies what the kubelet denies.
func auditOnly(r rules.Rule, mode string) string {
	id := string(r.ID)
	switch {
	case mode == rules.Off.String() || mode == rules.Audit.String():
		return mode
	case strings.Contains(id, "-REVOKE-"), strings.HasPrefix(id, "KA-") && !r.Optional:
		return mode
	}
	return "audit (the installation only audits; in mode enforce: " + mode + ")"
}
