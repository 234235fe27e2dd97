// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package auditreport summarizes findings: requests that an enforced rule would deny. It reads them
// from the logs and metrics of Bulkhead's components, or from the API server's audit log. For each
// rule it names the setting that allows the requests. It does no I/O except on the readers that it
// is given.
package auditreport

import (
	"regexp"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	scopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// StaleToken is the pseudo rule of a request with a token that is valid only because kube-apiserver
// extends tokens. No component has this rule.
const StaleToken rules.ID = "stale-token"

// LoopbackClient is the rule of a workload that uses the kubelet's API on 127.0.0.1. The kubelet does
// not report its requests, so a finding is a workload: its name is the User.
const LoopbackClient = kubeletauth.RuleLoopback

// Finding is one request that a rule would deny, or several with the same rule and user.
type Finding struct {
	Rule rules.ID
	User string
	// Verb, Resource, Namespace and Name are the request. Resource includes the subresource and the
	// group. For a request without a resource, Name is the path. All are empty in a metric.
	Verb, Resource, Namespace, Name string
	// Node is the node whose kubelet-auth-proxy has reported the finding. It is empty if another
	// component has.
	Node string
	// Reason is the message of the denial. It may be empty.
	Reason string
	// Binding is the RBAC binding that allows the request today, if the audit log names it.
	Binding string
	// Possible is true if the rule may allow the request: the source does not show what the rule
	// needs.
	Possible bool
	// Count is the number of requests. 0 counts as 1.
	Count int64
}

// maxReason bounds the reason of a finding, in bytes.
const maxReason = 1 << 10

// sanitize makes all texts safe to print, and bounds them. Any client may have chosen them.
func (f *Finding) sanitize() {
	for _, text := range []*string{&f.User, &f.Verb, &f.Resource, &f.Namespace, &f.Name, &f.Node, &f.Binding} {
		*text = webhook.Loggable(*text)
	}
	f.Reason = webhook.Printable(f.Reason, maxReason)
	f.Count = max(1, f.Count)
}

// resourceName returns the resource with its subresource and group: nodes/status, leases.coordination.k8s.io.
func resourceName(group, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	if group != "" {
		resource += "." + group
	}
	return resource
}

// allRules are the rules of all components.
var allRules = slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules, nodescope.Rules,
	scopeadmission.Rules)

// ruleID is the form of all IDs. A newer version may have rules that this one does not know.
var ruleID = regexp.MustCompile(`^[A-Z]{2}(-[A-Z0-9]{1,32}){1,3}$`)
