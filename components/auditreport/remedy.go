// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	possibleRemedy = "In hardened, nodes/proxy alone is not enough for exec, attach, run, port-forward, logs and " +
		"metrics (KA-VAP-1, KA-EXEC-1). `bulkhead kubelet-access` lists which of these users lose a right, and the " +
		"right to grant."
	revoked = "-REVOKE-1"
	table   = "nodePolicy.machines in the Installation"
)

// configuredRemedy is for rules of the configuration that have no list of keys to add to. It returns
// no remedy for other rules.
func configuredRemedy(id rules.ID, d details) Setting {
	switch id {
	case "NR-MIRROR-1":
		return Setting{GivesUp: "Every node can create mirror pods in these namespaces.",
			Remedy: annotate(d.namespaces, "node.kubernetes.io/mirror.allowed=true") +
				" `bulkhead mirror-labels` prints the commands for all static pods."}
	case "NR-MIRROR-2":
		return Setting{Incomplete: d.incomplete,
			GivesUp: "Every node can create mirror pods with these labels in these namespaces.",
			Remedy:  "Add " + toNamespace(d) + ". " + mirrorLabels}
	case "NR-MIRROR-3":
		return deniedLabels(d)
	case "NR-MIRROR-5":
		return Setting{Remedy: "A kubelet does not create such a mirror pod: find the client. " +
			"The value warn for mirrorPods.mode of the node policy allows it, and denies no mirror pod by the rules " +
			"NR-MIRROR-1 to 6." + ofPolicy}
	case "NR-MIRROR-6":
		return Setting{Remedy: "If the node is a control plane, set its label: " +
			"`kubectl label node NODE node-role.kubernetes.io/control-plane=`. If not, remove the label tier and the " +
			"annotations of kubeadm from the static pod."}
	case LoopbackClient:
		return Setting{Fields: []Field{{Path: "kubeletAPI.loopbackClients", Value: "allow"}},
			GivesUp: "Clients on a node's host network reach its kubelet without Bulkhead's rules.",
			Remedy:  "Or let the client use the node's address instead: $(NODE_IP) from status.hostIP."}
	case "NR-MACHINE-1":
		return Setting{Remedy: "Add the taints to registerWithTaints of the KubeletConfiguration, or change " + table + "."}
	case "NR-MACHINE-2":
		return Setting{Remedy: "Change the kubelet's --node-labels, or " + table + "."}
	case "NR-MACHINE-3":
		return Setting{Remedy: "Add the IP to the node's row of " + table + ". The only name that the node may report is " +
			"its own."}
	case "NR-STICKY-1", "NR-STICKY-2", "NR-STICKY-3":
		return Setting{Remedy: "Register the node with its taints again, or run `bulkhead taints clear NODE`. The taints " +
			"are sticky by `nodePolicy: {stickyTaints: …}`."}
	}
	return Setting{}
}

// deniedLabels has a second step: NR-MIRROR-2 denies a label until the namespace lists it.
func deniedLabels(d details) Setting {
	const path = "nodePolicy.mirrorPods.deniedLabelKeys"
	s := Setting{Incomplete: d.incomplete, GivesUp: "A mirror pod can have these labels where its namespace lists them.",
		Remedy: "Or remove the labels from the static pod."}
	if len(d.keys) == 0 {
		s.Remedy = "Remove the labels from the static pod. Or remove their keys from " + path + ", and add " +
			toNamespace(d) + "."
		return s
	}
	s.Fields = []Field{{Path: path, Remove: d.keys}}
	s.Then = "Then add " + toNamespace(d) + ": NR-MIRROR-2 denies them otherwise. " + mirrorLabels
	return s
}

const mirrorLabels = "`bulkhead mirror-labels` prints the command with the complete list."

// toNamespace returns which labels to add, and where. Metrics show no keys.
func toNamespace(d details) string {
	labels := "the labels"
	if len(d.keys) > 0 {
		labels += " " + strings.Join(d.keys, ", ")
	}
	return labels + " to the annotation node.kubernetes.io/mirror.allowed-label-keys of " + namespacesOf(d.namespaces)
}

// annotate returns the command for the first namespaces.
func annotate(namespaces []string, annotation string) string {
	const most = 3
	if len(namespaces) == 0 {
		return "Annotate the namespace with " + annotation + "."
	}
	first := strings.Join(namespaces[:min(most, len(namespaces))], " ")
	text := fmt.Sprintf("Run `kubectl annotate namespace %s %s`", first, annotation)
	if more := len(namespaces) - most; more > 0 {
		text += fmt.Sprintf(", and the same for %d more", more)
	}
	return text + "."
}

func namespacesOf(namespaces []string) string {
	if len(namespaces) == 0 {
		return "the namespace"
	}
	return "namespace " + strings.Join(namespaces[:min(3, len(namespaces))], ", ")
}

// coreRemedy is for rules without a mode and without a field.
func coreRemedy(key groupKey, d details) string {
	id := string(key.rule)
	switch {
	case strings.HasSuffix(id, "-LIMIT") || id == "KA-LIMIT-1":
		return "No setting changes this limit. Find the client that sends so many or such large requests."
	case strings.HasSuffix(id, revoked):
		return "An administrator has revoked these credentials. `bulkhead revoke list` shows them, and `bulkhead revoke " +
			"remove ID` accepts them again. If they are stolen, use new credentials instead."
	}
	if remedy, known := scopeRemedy(key.rule, d.account); known {
		return remedy
	}
	for _, of := range []struct {
		remedies map[rules.ID]string
		ofNode   string // ends the remedy in a finding about a node
	}{{nodeRemedies, ofNodes}, {otherNodeRemedies, ""}, {writeRemedies, ofPlugin}, {otherWriteRemedies, ""},
		{kubeletRemedies, ""}} {
		if remedy, known := of.remedies[key.rule]; known && d.account != "" {
			return remedy
		} else if known {
			return remedy + of.ofNode
		}
	}
	return "This version of bulkhead does not know the rule. Use the version of the components."
}
