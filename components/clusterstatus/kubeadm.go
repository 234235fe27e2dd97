// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

func kubeadmConfig(text string, l host.Layout) KubeadmConfig {
	if text == "" {
		return KubeadmAbsent
	}
	wiring := kubeadmconfig.Wiring{
		ConfigFile: l.AuthorizationConfig(), Admission: admissionflags.Wiring{ConfigFile: l.AdmissionConfig()}}
	switch {
	case kubeadmconfig.WhollyWired(text, wiring):
		return KubeadmWired
	case kubeadmconfig.Wired(text, wiring):
		return KubeadmPartlyWired
	}
	return KubeadmNotWired
}

// kubeadmFindings compares the ConfigMap kubeadm-config, which all hosts share, with the hosts.
// kubeadm writes the manifest of kube-apiserver on every host from it.
func kubeadmFindings(r *Report) []Finding {
	var without []string
	wirings := map[string]bool{}
	for _, h := range r.Hosts {
		switch {
		case h.State == NotInstalled:
			without = append(without, h.Node)
		case h.Entry != nil:
			wirings[h.Entry.Wiring] = true
		}
	}
	recorded := !slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Entry == nil })
	switch {
	case (r.KubeadmConfig == KubeadmWired || r.KubeadmConfig == KubeadmPartlyWired) && len(without) > 0:
		return []Finding{{preflight.Fail, "", "ConfigMap kubeadm-config names Bulkhead's files, but they do not exist on " +
			strings.Join(without, ", ") + ": after `kubeadm upgrade` kube-apiserver does not start there",
			"run `bulkhead install` on these hosts before any kubeadm command"}}
	case r.KubeadmConfig == KubeadmNotWired && recorded && len(wirings) == 1:
		return []Finding{{preflight.Fail, "", "ConfigMap kubeadm-config does not name Bulkhead's files, although all hosts " +
			"have Bulkhead: `kubeadm upgrade` would remove Bulkhead from kube-apiserver",
			"run `bulkhead install` on one of the hosts again"}}
	case r.KubeadmConfig == KubeadmPartlyWired:
		return []Finding{{preflight.Fail, "", "ConfigMap kubeadm-config names only one of Bulkhead's two files: `kubeadm " +
			"upgrade` would remove Bulkhead's authorizers or Bulkhead's admission from kube-apiserver",
			"run `bulkhead install` on one of the hosts again"}}
	case r.KubeadmConfig == KubeadmWired:
		return []Finding{{Level: preflight.OK,
			Text: "ConfigMap kubeadm-config names Bulkhead's files: `kubeadm upgrade` keeps them"}}
	}
	return nil
}

// staleEntries reports entries of hosts that are no control-plane nodes any more.
func (s *snapshot) staleEntries() []Finding {
	nodes := s.controlPlanes()
	names := map[string]bool{}
	for name := range s.entries {
		names[name] = true
	}
	for name := range s.bad {
		names[name] = true
	}
	var found []Finding
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains(nodes, name) {
			found = append(found, Finding{preflight.Warn, webhook.Loggable(name), "ConfigMap " + hostsConfigMap +
				" has an entry of this host, but the cluster has no control-plane Node with this name",
				"if the host was removed, run `bulkhead install` on another host again: it removes the entry"})
		}
	}
	return found
}
