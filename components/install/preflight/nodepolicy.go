// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	nodePolicyCheck = "labels and taints of nodes"
	// controlPlaneKey is a label and a taint. kubeadm adds both to a control-plane Node in one step.
	controlPlaneKey = "node-role.kubernetes.io/control-plane"
)

// nodeProblem is what the rules would deny to a node that registers. Nodes with the same problem
// share one finding.
type nodeProblem struct {
	level  Level
	remedy remedy
	// keys are sorted and separated by commas.
	keys string
}

// nodePolicyFindings checks the existing Nodes with the rules for a node that registers. A node
// with a label or taint that is denied keeps working. If its Node is deleted, it cannot register
// again, and a new node with the same configuration cannot register at all. A kubelet before 1.32
// also fails when it restarts: it does not continue with the existing Node if the create request is
// forbidden (pkg/kubelet/kubelet_node_status.go, KubeletRegistrationGetOnExistsOnly).
func nodePolicyFindings(ctx context.Context, in Input) ([]Finding, error) {
	nodes := 0
	groups := map[nodeProblem]*examples{}
	err := eachNode(ctx, in, "", func(node *corev1.Node) {
		nodes++
		for _, problem := range problemsOf(in, node) {
			if groups[problem] == nil {
				groups[problem] = &examples{}
			}
			groups[problem].add(node.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return []Finding{{OK, nodePolicyCheck,
			fmt.Sprintf("the policy allows what the kubelets of all %d Nodes set", nodes)}}, nil
	}
	return printed(in, groups), nil
}

// printed returns the certain problems first, then those of most Nodes.
func printed(in Input, groups map[nodeProblem]*examples) []Finding {
	problems := make([]nodeProblem, 0, len(groups))
	for problem := range groups {
		problems = append(problems, problem)
	}
	slices.SortFunc(problems, func(a, b nodeProblem) int {
		// FAIL is before WARN in the alphabet.
		return cmp.Or(cmp.Compare(in.level(a), in.level(b)), cmp.Compare(groups[b].count, groups[a].count),
			cmp.Compare(a.remedy, b.remedy), cmp.Compare(a.keys, b.keys))
	})
	var findings []Finding
	for i, problem := range problems {
		if i == mostNamed {
			more := fmt.Sprintf("%d more sets of keys are denied; change the settings above, then run this again",
				len(problems)-mostNamed)
			return append(findings, Finding{in.level(problem), nodePolicyCheck, more})
		}
		findings = append(findings, in.found(problem, groups[problem].String()))
	}
	return findings
}

// found returns the finding about a problem of some nodes.
func (in Input) found(p nodeProblem, nodes string) Finding {
	detail := p.detail(nodes)
	if in.audits(p.remedy) {
		detail = fmt.Sprintf("before you enforce %s: %s", ruleOf[p.remedy], detail)
	}
	return Finding{in.level(p), nodePolicyCheck, detail}
}

// audits reports whether the rule that denies only audits.
func (in Input) audits(r remedy) bool { return in.Modes[ruleOf[r]] == rules.Audit }

// level returns Warn if the rule that denies only audits.
func (in Input) level(p nodeProblem) Level {
	if in.audits(p.remedy) {
		return Warn
	}
	return p.level
}

// keysBy are denied keys, by remedy and by whether the kubelet has certainly set them.
type keysBy map[nodeProblem][]string

func (k keysBy) add(level Level, r remedy, key string) {
	group := nodeProblem{level: level, remedy: r}
	k[group] = append(k[group], key)
}

func (k keysBy) problems() []nodeProblem {
	var problems []nodeProblem
	for group, keys := range k {
		slices.Sort(keys)
		group.keys = strings.Join(keys, ",")
		problems = append(problems, group)
	}
	return problems
}

func problemsOf(in Input, node *corev1.Node) []nodeProblem {
	owners, denied := ownersOf(node), keysBy{}
	labels, missing := noderestriction.MachineMismatch(in.Policy, node)
	for _, key := range labels {
		if level := levelOf(owners.labels[key]); level != OK {
			denied.add(level, changeMachineLabel, key)
		}
	}
	if in.audits(changeMachineLabel) {
		labels = nil // other rules still deny them
	}
	addLabels(in, node, owners, labels, denied)
	addTaints(in, node, owners, denied)
	for _, taint := range missing {
		// An administrator may have removed the taint from this Node.
		denied.add(Warn, registerWithTaint, taint.ToString())
	}
	return denied.problems()
}

// levelOf returns OK if another client set the field: the policy limits only nodes.
func levelOf(by owner) Level {
	switch by {
	case kubeletOwner:
		return Fail
	case unknownOwner:
		return Warn
	default:
		return OK
	}
}

// addLabels skips the labels in reported, which have their own remedy.
func addLabels(in Input, node *corev1.Node, owners fieldOwners, reported []string, denied keysBy) {
	upstream := noderestriction.LabelsDenied(nil, node.Name, node.Labels)
	configured := in.Policy != nil && in.Policy.AllowedLabels != nil
	fixed := !configured || in.Profile != "parity" || in.audits(allowLabel)
	for _, key := range upstream {
		// A kubelet refuses to start with such a key in --node-labels. So without its name in
		// managedFields, another client has set the label.
		if fixed && owners.labels[key] == kubeletOwner && !slices.Contains(reported, key) {
			denied.add(Fail, setByAdministrator, key)
		}
	}
	if !configured {
		return
	}
	for _, key := range noderestriction.LabelsDenied(in.Policy, node.Name, node.Labels) {
		byUpstream := slices.Contains(upstream, key)
		level := levelOf(owners.labels[key])
		if level == OK || slices.Contains(reported, key) || byUpstream && (fixed || level == Warn) {
			continue
		}
		denied.add(level, allowLabel, key)
	}
}

// addTaints skips sticky taints: node-restriction records them, and admits a node with them. The taints
// with which the kubelet registers count also if the Node no longer has them.
func addTaints(in Input, node *corev1.Node, owners fieldOwners, denied keysBy) {
	registered := noderestriction.TaintsDenied(in.Policy, node.Name, in.kubelets.configs[node.Name].RegisterWithTaints)
	for _, key := range registered {
		if !in.Policy.StickyTaints.Has(key) {
			denied.add(Fail, allowTaint, key)
		}
	}
	for _, key := range noderestriction.TaintsDenied(in.Policy, node.Name, node.Spec.Taints) {
		_, marked := node.Labels[key]
		byKubeadm := key == controlPlaneKey && marked
		switch {
		case in.Policy.StickyTaints.Has(key) || slices.Contains(registered, key):
		case owners.taints == kubeletOwner:
			denied.add(Fail, allowTaint, key)
		case !byKubeadm && !byControlPlane(key):
			denied.add(Warn, allowTaint, key)
		}
	}
}

// byControlPlane reports whether the control plane sets and removes the taint as the condition of
// the node changes.
func byControlPlane(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/")
}
