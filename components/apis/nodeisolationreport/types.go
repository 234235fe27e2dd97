// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeisolationreport is the file that says which rules hold on a cluster: kind
// NodeIsolationReport in bulkhead.dev/v1alpha1.
package nodeisolationreport

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The header of the file.
const (
	APIVersion = "bulkhead.dev/v1alpha1"
	Kind       = "NodeIsolationReport"
)

// Result is the result of a rule.
type Result string

// The results of a rule. They are about what the cluster did, not about what a spec expected: on
// in-tree, a spec passes if the cluster allows what a rule beyond upstream would deny. That rule does
// not hold there.
const (
	// Held: at least one request was denied and one allowed as the rule says, and nothing contradicts
	// it.
	Held Result = "held"
	// NotHeld: the cluster allowed a request that the rule denies, or a spec of the rule failed.
	NotHeld Result = "notHeld"
	// NotProved: nothing contradicts the rule, but no denial or no allowance was seen, or a spec met a
	// time limit.
	NotProved Result = "notProved"
	// NotApplicable: no spec of the rule can run on the cluster. The rule has the reason.
	NotApplicable Result = "notApplicable"
)

// Results are all results, in the order in which reports count them.
func Results() []Result { return []Result{Held, NotHeld, NotProved, NotApplicable} }

// Outcome is what one spec saw.
type Outcome string

// The outcomes of a spec.
const (
	Denied  Outcome = "denied"
	Allowed Outcome = "allowed"
	// Unconfirmed is the outcome of a spec that expects a denial and passed, but whose recorded answers
	// are all allowances. It proves nothing.
	Unconfirmed Outcome = "unconfirmed"
	// TimedOut is the outcome of a spec that met a time limit. It proves nothing.
	TimedOut Outcome = "timedOut"
	Failed   Outcome = "failed"
	Skipped  Outcome = "skipped"
)

func outcomes() []Outcome { return []Outcome{Denied, Allowed, Unconfirmed, TimedOut, Failed, Skipped} }

// Verdict is how an attack ended.
type Verdict string

// The verdicts of an attack.
const (
	// Stopped: every attempt was denied.
	Stopped Verdict = "stopped"
	// Succeeded: an attempt was allowed.
	Succeeded Verdict = "succeeded"
	// Unclear: a spec failed or met a time limit, or no attempt was seen to be denied.
	Unclear Verdict = "unclear"
	// NotTried: all specs were skipped.
	NotTried Verdict = "notTried"
)

// Verdicts are all verdicts, in the order in which reports count them.
func Verdicts() []Verdict { return []Verdict{Stopped, Succeeded, Unclear, NotTried} }

// NodeIsolationReport says which rules hold on one cluster.
type NodeIsolationReport struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   Metadata  `json:"metadata"`
	Summary    Summary   `json:"summary"`
	Profiles   []Profile `json:"profiles"`
	Rules      []Rule    `json:"rules"`
	Attacks    []Attack  `json:"attacks"`
	// Runs are the runs of suites that the report is made of.
	Runs []Run `json:"runs"`
}

// Metadata says when and where the report was made.
type Metadata struct {
	// Started is the start of the first run, and Finished the end of the last.
	Started  metav1.Time `json:"started"`
	Finished metav1.Time `json:"finished"`
	// Profile is what is installed: hardened, parity or in-tree. It is any for a cluster about which
	// the suites know nothing.
	Profile string `json:"profile"`
	// BulkheadVersion is the version of Bulkhead whose rules and suites the report is about. On
	// in-tree, that Bulkhead is not installed.
	BulkheadVersion   string `json:"bulkheadVersion"`
	KubernetesVersion string `json:"kubernetesVersion"`
	Nodes             int    `json:"nodes"`
	// Platform describes the nodes: operating system, architecture, kernel, container runtime.
	Platform string `json:"platform"`
}

// Summary is the verdict about the cluster.
type Summary struct {
	// Verdict is in words.
	Verdict string       `json:"verdict"`
	Rules   Counts       `json:"rules"`
	Attacks AttackCounts `json:"attacks"`
}

// Counts counts rules by result.
type Counts struct {
	Held          int `json:"held"`
	NotHeld       int `json:"notHeld"`
	NotProved     int `json:"notProved"`
	NotApplicable int `json:"notApplicable"`
}

// AttackCounts counts attacks by verdict.
type AttackCounts struct {
	Stopped   int `json:"stopped"`
	Succeeded int `json:"succeeded"`
	Unclear   int `json:"unclear"`
	NotTried  int `json:"notTried"`
}

// Profile is the result of one group of rules: NodeAuthorizer, NodeRestriction, KubeletAPI or
// NodeScope.
type Profile struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Rules   Counts `json:"rules"`
}

// Rule is the result of one rule.
type Rule struct {
	ID string `json:"id"`
	// Profile is the name of the rule's profile.
	Profile     string `json:"profile"`
	Description string `json:"description"`
	Source      string `json:"source"`
	// Extension is true if Kubernetes does not have this rule.
	Extension bool   `json:"extension,omitempty"`
	Result    Result `json:"result"`
	// Reason says why the result is not held.
	Reason string `json:"reason,omitempty"`
	// Evidence are the specs of the rule.
	Evidence []Evidence `json:"evidence,omitempty"`
	// MoreEvidence is the number of specs that the report omits.
	MoreEvidence int `json:"moreEvidence,omitempty"`
}

// Evidence is what one spec did.
type Evidence struct {
	Suite string `json:"suite"`
	Spec  string `json:"spec"`
	// Expected is what the spec expected on this cluster.
	Expected string  `json:"expected"`
	Outcome  Outcome `json:"outcome"`
	// Request is the request and its user. Happened is the answer. Both are empty if the spec did not
	// record an answer.
	Request  string          `json:"request,omitempty"`
	Happened string          `json:"happened,omitempty"`
	Duration metav1.Duration `json:"duration"`
	// Message is the message of a failure or of a time limit, or the reason of a skipped spec.
	Message string `json:"message,omitempty"`
}

// Attack is one attack as a story.
type Attack struct {
	// ID is the attack's number, such as T20. It is empty if the suite names none.
	ID      string     `json:"id,omitempty"`
	Suite   string     `json:"suite"`
	Name    string     `json:"name"`
	Rules   []string   `json:"rules"`
	Verdict Verdict    `json:"verdict"`
	Steps   []Evidence `json:"steps"`
	// MoreSteps is the number of specs that the report omits.
	MoreSteps int `json:"moreSteps,omitempty"`
}

// Run is one run of one suite.
type Run struct {
	Suite    string          `json:"suite"`
	Started  metav1.Time     `json:"started"`
	Duration metav1.Duration `json:"duration"`
	Nodes    int             `json:"nodes"`
	Passed   int             `json:"passed"`
	// Failed includes specs that met a time limit.
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}
