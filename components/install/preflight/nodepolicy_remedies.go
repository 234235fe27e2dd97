// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// remedy is what an administrator does about a label or a taint that is denied.
type remedy string

const (
	allowLabel         remedy = "allowedLabels"
	allowTaint         remedy = "allowedTaints"
	setByAdministrator remedy = "administrator"
	changeMachineLabel remedy = "machines"
	registerWithTaint  remedy = "registerWithTaints"
)

// ruleOf are the rules that deny.
var ruleOf = map[remedy]rules.ID{
	allowLabel: "NR-LABEL-1", allowTaint: "NR-TAINT-1", setByAdministrator: "NR-NODE-3",
	changeMachineLabel: "NR-MACHINE-2", registerWithTaint: "NR-MACHINE-1",
}

// detail describes the problem, its cause and the setting that solves it.
func (p nodeProblem) detail(nodes string) string {
	switch p.remedy {
	case setByAdministrator:
		return fmt.Sprintf("label %s of node %s: the kubelet set it, and Kubernetes denies it to nodes [NR-NODE-3]. In "+
			"hardened, nodePolicy cannot allow it. Remove it from the kubelet's --node-labels, and let an administrator set it",
			p.listed(), nodes)
	case changeMachineLabel:
		return fmt.Sprintf("label %s of node %s: %s, and the machine table has another value [NR-MACHINE-2]. Change "+
			"nodePolicy.machines in the Installation, or the kubelet's --node-labels", p.listed(), nodes, p.cause("label"))
	case registerWithTaint:
		return fmt.Sprintf("node %s: a taint of the machine table is missing: %s. A node registers only with it "+
			"[NR-MACHINE-1]: add it to registerWithTaints of the KubeletConfiguration, or change nodePolicy.machines",
			nodes, p.listed())
	case allowTaint:
		return p.allow("taint", "registerWithTaints of the KubeletConfiguration", nodes)
	default:
		return p.allow("label", "the kubelet's --node-labels", nodes)
	}
}

func (p nodeProblem) allow(what, source, nodes string) string {
	return fmt.Sprintf("%s %s of node %s: %s, and the policy denies it to a node that registers [%s]. To allow it, add "+
		"this to nodePolicy in the Installation, next to the entries that it has: `%s`. If it has no nodePolicy, first "+
		"append what `bulkhead config print --node-policy` prints. Or remove it from %s", what, p.listed(), nodes,
		p.cause(what), ruleOf[p.remedy], p.setting(), source)
}

// cause does not claim what managedFields do not show.
func (p nodeProblem) cause(what string) string {
	if p.level == Fail {
		return "the kubelet set it"
	}
	return "the Node's managedFields do not show who set this " + what
}

func (p nodeProblem) listed() string { return strings.ReplaceAll(p.keys, ",", ", ") }

// setting returns the field that allows the keys.
func (p nodeProblem) setting() string {
	return installation.Setting("nodePolicy."+string(p.remedy), installation.List(strings.Split(p.keys, ",")))
}
