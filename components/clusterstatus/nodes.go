// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// guards returns the state of every node. Without the DaemonSet, no node is guarded.
func (s *snapshot) guards(proxied []string) []Node {
	reasons := map[string]string{}
	for _, node := range proxied {
		name, reason, _ := strings.Cut(node, " (")
		reasons[name] = webhook.Loggable(strings.TrimSuffix(reason, ")"))
	}
	all := []Node{}
	for i := range s.nodes {
		node := Node{Name: s.nodes[i].Name, Ready: nodeReady(&s.nodes[i])}
		reason, found := reasons[node.Name]
		switch {
		case reason != "":
			node.Guard, node.Reason = Unknown, reason
		case found:
			node.Guard = Guarded
		default:
			node.Guard, node.Reason = s.withoutProxy(&s.nodes[i])
		}
		all = append(all, node)
	}
	return all
}

func rollout(d *appsv1.DaemonSet) *Rollout {
	if d == nil {
		return nil
	}
	return &Rollout{Desired: d.Status.DesiredNumberScheduled, Updated: d.Status.UpdatedNumberScheduled,
		Ready: d.Status.NumberReady, Observed: d.Status.ObservedGeneration >= d.Generation}
}

func (s *snapshot) withoutProxy(node *corev1.Node) (Guard, string) {
	switch {
	case s.daemonSet == nil:
		return NotGuarded, ""
	case !selects(&s.daemonSet.Spec.Template.Spec, node):
		return LeftOut, ""
	case !nodeReady(node):
		return Unknown, "the Node is not ready"
	}
	return NotGuarded, ""
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// nodeFindings reports the nodes whose kubelet any client can reach. Once a kube-apiserver verifies
// kubelets, all nodes were guarded before, so then this is a failure. Before, it is a rollout.
func (s *snapshot) nodeFindings(r *Report) []Finding {
	verified := slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Entry != nil && h.Entry.VerifyKubelets })
	level := preflight.Warn
	if verified {
		level = preflight.Fail
	}
	if s.daemonSet == nil {
		return noProxy(r, verified)
	}
	found := s.proxyImage(r)
	count := map[Guard]int{}
	for _, node := range r.Nodes {
		count[node.Guard]++
		switch node.Guard {
		case Guarded, LeftOut:
		case NotGuarded:
			found = append(found, Finding{level, node.Name, "the kubelet is not guarded: it is not behind a ready " +
				"kubelet-auth-proxy", "run `bulkhead node status` on this node, and then what it says"})
		case Unknown:
			found = append(found, Finding{preflight.Warn, node.Name, "it is unknown whether the kubelet is guarded: " +
				node.Reason, "repair the kubelet, or delete the Node if the machine is gone"})
		}
	}
	if len(found) > 0 {
		return found
	}
	summary := fmt.Sprintf("%d of %d kubelets are guarded by kubelet-auth-proxy", count[Guarded], len(r.Nodes))
	if count[LeftOut] > 0 {
		summary += fmt.Sprintf("; the DaemonSet leaves out %d", count[LeftOut])
	}
	return []Finding{{Level: preflight.OK, Text: summary}}
}

// noProxy judges a cluster without kubelet-auth-proxy. Profile parity and --kubelet-api=false have
// none.
func noProxy(r *Report, verified bool) []Finding {
	recorded := slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Entry != nil })
	hardened := slices.ContainsFunc(r.Hosts, func(h Host) bool {
		return h.Entry != nil && h.Entry.Profile == string(controlplane.Hardened)
	})
	const text = "no kubelet is guarded: kube-system has no DaemonSet " + proxyDaemonSet
	switch {
	case verified:
		return []Finding{{preflight.Fail, "", text, "run `bulkhead install` on a control-plane host again"}}
	case hardened:
		return []Finding{{preflight.Warn, "", text, "to guard them, run `bulkhead install --kubelet-api`; this is as it " +
			"should be if you chose --kubelet-api=false"}}
	case recorded:
		return []Finding{{Level: preflight.OK, Text: "no kubelet is guarded: only profile hardened has " +
			host.KubeletAuthProxy}}
	}
	return nil
}

// proxyImage compares the image of kubelet-auth-proxy with those of the hosts. All hosts share the
// DaemonSet, so during an upgrade it has the image of one of them.
func (s *snapshot) proxyImage(r *Report) []Finding {
	var have string
	for _, c := range s.daemonSet.Spec.Template.Spec.Containers {
		if c.Name == host.KubeletAuthProxy {
			have = webhook.Loggable(c.Image)
		}
	}
	var installed []string
	for _, h := range r.Hosts {
		if h.Entry != nil {
			installed = append(installed, webhook.Loggable(h.Entry.Image))
		}
	}
	if len(installed) == 0 || slices.Contains(installed, have) {
		return nil
	}
	return []Finding{{preflight.Fail, "", fmt.Sprintf("kubelet-auth-proxy runs image %s, but the hosts have %s", have,
		strings.Join(slices.Compact(slices.Sorted(slices.Values(installed))), ", ")),
		"run `bulkhead install` on a control-plane host again"}}
}
