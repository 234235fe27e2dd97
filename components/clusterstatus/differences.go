// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

const sameFile = "run `bulkhead install --config=FILE` on the hosts that differ, with the same file on each"

// differences compares the installed hosts with each other. Different versions are part of an
// upgrade, so they are only a warning. They can also be the cause of a different configuration.
func differences(all []Host) []Finding {
	installed := slices.DeleteFunc(slices.Clone(all), func(h Host) bool { return h.Entry == nil })
	var found []Finding
	compare := func(level preflight.Level, what, next string, value func(Host) string) {
		if values := groups(installed, value); len(values) > 1 {
			found = append(found, Finding{level, "", "hosts differ in " + what + ": " + list(values), next})
		}
	}
	compare(preflight.Warn, "version", "run `bulkhead install` of the newer version on the hosts with the older one",
		func(h Host) string { return h.Entry.Version })
	level := preflight.Fail
	if len(found) > 0 {
		level = preflight.Warn
	}
	compare(preflight.Fail, "profile", sameFile, func(h Host) string { return h.Entry.Profile })
	compare(preflight.Fail, "mode", sameFile, func(h Host) string { return h.Entry.Mode })
	compare(level, "configuration", sameFile, func(h Host) string { return Short(h.Entry.ConfigHash) })
	compare(level, "flags of kube-apiserver", sameFile, func(h Host) string { return Short(h.Entry.Wiring) })
	if len(found) > 0 {
		return found // they explain different files
	}
	compare(preflight.Warn, "authorization file", installAgain, func(h Host) string { return h.fileHash(true) })
	compare(preflight.Warn, "admission file", installAgain, func(h Host) string { return h.fileHash(false) })
	if len(found) == 0 && len(installed) > 1 {
		found = []Finding{{Level: preflight.OK, Text: "hosts have the same version, profile, mode and configuration"}}
	}
	return found
}

// fileHash returns the hash of a file of kube-apiserver. It is empty after `kubeadm upgrade`, which
// writes a manifest without the annotation.
func (h Host) fileHash(authorization bool) string {
	switch {
	case h.APIServer == nil:
		return ""
	case authorization:
		return Short(h.APIServer.AuthorizationConfigSHA256)
	}
	return Short(h.APIServer.AdmissionControlConfigSHA256)
}

// Short returns the first characters of a hash, for a table.
func Short(hash string) string { return fmt.Sprintf("%.12s", hash) }

// groups returns the hosts with each value. A host with an empty value is left out.
func groups(all []Host, value func(Host) string) map[string][]string {
	nodes := map[string][]string{}
	for _, h := range all {
		if v := value(h); v != "" {
			nodes[v] = append(nodes[v], h.Node)
		}
	}
	return nodes
}

// list returns the values with their hosts in one line.
func list(values map[string][]string) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, value+" on "+strings.Join(values[value], ", "))
	}
	return strings.Join(parts, "; ")
}
