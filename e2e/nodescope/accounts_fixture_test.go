// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

// modeAnnotation sets whether a scope is enforced or only audited.
const modeAnnotation = "bulkhead.dev/node-scope-mode"

// Accounts of the stage. RBAC allows all of them everything.
const (
	// plain has no annotation, like a DaemonSet today.
	plain = "plain"
	// agent is limited on the resources that most agents use. Its scope names them in every
	// possible form.
	agent = "agent"
	// handler has the same scope, and may edit taints.
	handler = "handler"
	// watched has the same scope in audit mode.
	watched = "watched"
	// fullScope is limited on all resources.
	fullScope = "held"
	// statuses is limited on the status of Nodes and on one API group, but not on Nodes.
	statuses = "statuses"
	// misspelt has a value that cannot be parsed. unenforceable has a value that cannot be enforced.
	misspelt      = "misspelt"
	unenforceable = "unheld"
	// shared has no annotation. One of its pods has one, another pod has none.
	shared = "shared"
	// adding has an annotation, and a pod that adds to it.
	adding = "adding"
	// shortLived has the scope of agent. Its pods are created and deleted by specs.
	shortLived = "short-lived"
	// custom is limited on custom resources.
	custom = "custom"
	// small has a scope of nodes only: it names neither tokens nor secrets.
	small = "small"
	// alone has a scope with resources but without their subresources.
	alone = "alone"
)

// longName is the name of an account with a label of more than 63 characters, which Kubernetes
// allows. Its pod is called long.
var longName = "long-" + strings.Repeat("n", 100)

const long = "long"

const (
	agentScope = "pods, pods/status, pods/eviction, nodes, nodes/status, secrets, configmaps, events, services, " +
		"services/status, " +
		"serviceaccounts, serviceaccounts/token, leases.coordination.k8s.io, csidrivers.storage.k8s.io, " +
		"*.admissionregistration.k8s.io"
	widgets       = "widgets.e2e.bulkhead.dev"
	gadgets       = "gadgets.e2e.bulkhead.dev"
	narrow        = "narrow"
	addedScope    = "secrets"
	sharedScope   = "nodes"
	notUnderstood = "configmaps, Nodes"
)

// scopes are the annotations of the accounts of the stage.
var scopes = map[string]map[string]string{
	plain:         nil,
	agent:         scope(agentScope),
	handler:       {nodescope.ScopeAnnotation: agentScope, nodescope.ExemptionsAnnotation: string(nodescope.Taints)},
	watched:       {nodescope.ScopeAnnotation: agentScope, modeAnnotation: "audit"},
	fullScope:     scope("*"),
	statuses:      scope("nodes/status, *.storage.k8s.io"),
	misspelt:      scope(notUnderstood),
	unenforceable: scope("configmaps, endpointslices.discovery.k8s.io"),
	shared:        nil,
	adding:        scope("configmaps"),
	shortLived:    scope(agentScope),
	custom:        scope(widgets + ", " + widgets + "/status, " + gadgets + ", " + gadgets + "/status"),
	small:         scope("nodes"),
	alone:         scope("pods/-, nodes/-"),
	longName:      scope("nodes"),
}

// annotated are the accounts that must be in the lists of the API server.
var annotated = []string{agent, handler, watched, fullScope, statuses, misspelt, unenforceable, shared, adding,
	shortLived, custom,
	small, alone, longName}

func scope(value string) map[string]string {
	return map[string]string{nodescope.ScopeAnnotation: value}
}

// agents returns the pods of the stage whose tokens are used, by name.
func agents() map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	add := func(account, suffix, node string, tweaks ...fixtures.PodTweak) {
		tweaks = append(tweaks, fixtures.As(account), withTokenOfItsOwn)
		pods[account+suffix] = fixtures.Pod("", account+suffix, node, tweaks...)
	}
	for _, account := range []string{plain, agent, handler, watched, fullScope, statuses, misspelt, unenforceable, shared,
		custom} {
		add(account, "", suite.Worker)
	}
	add(small, "", suite.Worker)
	add(alone, "", suite.Worker)
	add(small, onOther, suite.ControlPlane)
	pods[long] = fixtures.Pod("", long, suite.Worker, fixtures.As(longName), withTokenOfItsOwn)
	add(agent, onOther, suite.ControlPlane)
	add(shared, "-"+narrow, suite.Worker, noted(sharedScope))
	add(adding, "-"+narrow, suite.Worker, noted(addedScope))
	for _, account := range insiders() {
		add(account, inside, suite.Worker, withShell)
	}
	return pods
}

// onOther is the suffix of the names of pods on the control plane.
const onOther = "-other"

func withTokenOfItsOwn(pod *corev1.Pod) { pod.Spec.AutomountServiceAccountToken = ptr.To(true) }

// noted annotates a pod with a scope.
func noted(value string) fixtures.PodTweak {
	return func(pod *corev1.Pod) { pod.Annotations = scope(value) }
}
