// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const installAgain = "run `bulkhead install` on this host again"

// hostFindings checks each host by itself.
func hostFindings(all []Host, l host.Layout) []Finding {
	if len(all) == 0 {
		return []Finding{{preflight.Fail, "", "no Node has the label " + ControlPlaneLabel + ", so no host was checked",
			"restore the label on the Nodes of the control plane; kubeadm sets it"}}
	}
	var found []Finding
	for _, h := range all {
		found = append(found, stateFindings(h)...)
		if h.State != NotInstalled {
			found = append(found, serverFindings(h, l)...)
			found = append(found, componentFindings(h, all)...)
		}
	}
	if len(found) == 0 {
		found = []Finding{{Level: preflight.OK, Text: fmt.Sprintf("%d of %d control-plane hosts have Bulkhead, and its "+
			"components are ready", len(all), len(all))}}
	}
	return found
}

func stateFindings(h Host) []Finding {
	switch h.State {
	case Installed:
		return nil
	case NotInstalled:
		return []Finding{{preflight.Fail, h.Node, "Bulkhead is not installed: kube-apiserver on this host decides without it",
			"run `bulkhead install --config=FILE` on this host, with the file of the other hosts"}}
	case NotRecorded:
		return []Finding{{preflight.Warn, h.Node, "kube-apiserver uses Bulkhead's files, but ConfigMap " + hostsConfigMap +
			" has no entry of this host: an older version installed it, or only `bulkhead prepare` has run", installAgain}}
	case Unreadable:
		return []Finding{{preflight.Fail, h.Node, h.Problem, installAgain + ": it writes the entry again"}}
	}
	return nil
}

// serverFindings compares the flags of kube-apiserver with what the installer sets.
func serverFindings(h Host, l host.Layout) []Finding {
	server := h.APIServer
	if server == nil {
		return []Finding{{preflight.Fail, h.Node, "the API has no mirror pod of kube-apiserver on this host",
			"on this host, look at the kubelet and at `crictl ps -a`"}}
	}
	var found []Finding
	if server.NotReady != "" {
		found = append(found, Finding{preflight.Fail, h.Node, "kube-apiserver is not ready: " + server.NotReady,
			"on this host, read the log of kube-apiserver with `crictl logs`"})
	}
	for _, flag := range []struct{ name, have, want string }{
		{"authorization-config", server.AuthorizationConfig, l.AuthorizationConfig()},
		{"admission-control-config-file", server.AdmissionControlConfigFile, l.AdmissionConfig()},
	} {
		if flag.have == flag.want {
			continue
		}
		next := installAgain + ": another program has changed the manifest of kube-apiserver since. " +
			"After a restart of kube-apiserver, its kubelet needs up to a minute to report the new flags"
		if flag.have != "" {
			next += ". If Bulkhead's files are in another directory, give --state-dir"
		}
		found = append(found, Finding{preflight.Fail, h.Node, fmt.Sprintf("kube-apiserver does not use Bulkhead's file: "+
			"--%s is %q, want %q", flag.name, flag.have, flag.want), next})
	}
	if h.Entry != nil && h.Entry.VerifyKubelets && server.KubeletCertificateAuthority == "" {
		found = append(found, Finding{preflight.Fail, h.Node, "kube-apiserver does not verify the serving certificates of " +
			"kubelets: --kubelet-certificate-authority is not set, but Bulkhead was installed with it", installAgain})
	}
	return found
}

// componentFindings checks Bulkhead's static pods on a host. An optional one must run if it runs on
// another host.
func componentFindings(h Host, all []Host) []Finding {
	wanted := map[string]bool{}
	for _, name := range required {
		wanted[name] = true
	}
	for _, other := range all {
		for _, c := range other.Components {
			wanted[c.Name] = wanted[c.Name] || other.State == Installed
		}
	}
	var found []Finding
	for _, c := range h.Components {
		delete(wanted, c.Name)
		if c.NotReady != "" {
			found = append(found, Finding{preflight.Fail, h.Node, c.Name + " is not ready: " + c.NotReady,
				"kubectl -n kube-system describe pod bulkhead-" + c.Name + "-" + h.Node})
		}
		if h.Entry != nil && c.Image != webhook.Loggable(h.Entry.Image) {
			found = append(found, Finding{preflight.Fail, h.Node, fmt.Sprintf("%s runs image %s, but %s was installed", c.Name,
				c.Image, h.Entry.Image), installAgain})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name] {
			found = append(found, Finding{preflight.Fail, h.Node, "the API has no mirror pod of " + name + " on this host",
				installAgain + "; if that does not help, look at `crictl ps -a` there"})
		}
	}
	return found
}
