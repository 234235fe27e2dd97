// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// row is one request and the expected decision. By default, the user is the pod of the account
// "agent" on the node "me", and the account has the scope usualScope. The name completes the
// sentence "a pod that asks for …".
type row struct {
	name   string
	who    user.Info
	scope  string
	asks   request
	passed bool
	reason string
}

const usualScope = "secrets,pods,pods/status,pods/eviction,pods/exec,nodes,nodes/status,nodes/proxy," +
	"leases.coordination.k8s.io,events,deployments.apps," +
	"widgets.example.com,widgets.example.com/status,widgets.example.com/scale,gadgets.example.com,twins.example.com"

const usualCustom = "widgets.example.com=field:spec.node," +
	"gadgets.example.com=label:example.com/node,twins.example.com=field:metadata.name"

// answer has all return values of Authorize.
type answer struct {
	Decision authorizer.Decision
	Reason   string
	Err      error
}

// cluster is a [NodeInfo] with the pods of "agent".
type cluster struct {
	accounts map[string]Account
	pods     map[string]Pod
}

func (c cluster) Account(namespace, name string) (Account, bool) {
	a, known := c.accounts[namespace+"/"+name]
	return a, known
}

func (c cluster) Pod(namespace, name string) (Pod, bool) {
	p, known := c.pods[namespace+"/"+name]
	return p, known
}

// clusterOf returns a cluster in which "agent" is this account.
func clusterOf(account Account) cluster {
	return cluster{
		accounts: map[string]Account{
			"ns/agent": account, "ns/free": {}, "ns/" + strings.Repeat("a", 100): {}, "ns/" + strings.Repeat("a", 253): {},
			strings.Repeat("n", 63) + "/agent": {},
		},
		pods: map[string]Pod{
			"ns/agent-me":      {UID: "uid-me", NodeName: "me", RunsAs: "agent"},
			"ns/agent-other":   {UID: "uid-other", NodeName: "other", RunsAs: "agent"},
			"ns/agent-pending": {UID: "uid-pending", RunsAs: "agent"},
			"ns/mirror-me":     {UID: "uid-mirror", NodeName: "me"},
			"ns/free-me":       {UID: "uid-free", NodeName: "me", RunsAs: "free"},
		},
	}
}

// realNode is the node authorizer with a graph. In it, the node "me" has the pod "ns/my-pod"
// with the secret "my-secret" and the account "my-account". The node "other" has such objects
// too.
func realNode(tb testing.TB) NodeAuthorizer {
	tb.Helper()
	g := graph.New(graph.Options{})
	for _, pod := range []struct{ name, node, secret, account string }{{"my-pod", "me", "my-secret", "my-account"},
		{"their-pod", "other", "their-secret", "their-account"}} {
		g.SetPod(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pod.name, UID: types.UID("uid-" + pod.name)},
			Spec: corev1.PodSpec{NodeName: pod.node, ServiceAccountName: pod.account, Volumes: []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: pod.secret}}},
			}},
		})
	}
	return nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Strict, Features: nodeauthorizer.DefaultFeatures(), Relations: g, Unready: never,
	})
}

func never() string { return "" }

// objects has, for each custom resource by name, the node that it names.
type objects map[string]string

var errBroken = errors.New("the API server does not answer")

func (o objects) NodeOf(_ context.Context, _ string, at Declaration, _, namespace, name string) (string, error) {
	node, there := o[at.Resource.Resource+" "+namespace+"/"+name]
	if node == "broken" {
		return "me", errBroken
	}
	if !there {
		return "", nil
	}
	return node, nil
}

var usualObjects = objects{
	"widgets ns/mine": "me", "widgets ns/theirs": "other", "widgets ns/nobodys": "", "widgets ns/broken": "broken",
	"gadgets ns/mine": "me", "gadgets ns/theirs": "other",
}

func newOver(tb testing.TB, info NodeInfo) *Authorizer {
	tb.Helper()
	custom, err := ParseDeclarations(usualCustom)
	if err != nil {
		tb.Fatal(err)
	}
	return New(Config{Node: realNode(tb), Info: info, Custom: custom, Objects: usualObjects, Unready: never})
}

func mustScope(tb testing.TB, value string) *Scope {
	tb.Helper()
	s, err := ParseScope(value)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

const (
	podName  = "authentication.kubernetes.io/pod-name"
	podUID   = "authentication.kubernetes.io/pod-uid"
	nodeName = "authentication.kubernetes.io/node-name"
	nodeUID  = "authentication.kubernetes.io/node-uid"
)

// tokenOf is the user of an account's token.
func tokenOf(account string, extra map[string][]string) user.Info {
	return &user.DefaultInfo{
		Name:   "system:serviceaccount:ns:" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"},
		Extra:  extra,
	}
}

func claimsOf(pod, uid, node string) map[string][]string {
	return map[string][]string{
		podName: {pod}, podUID: {uid}, nodeName: {node}, nodeUID: {"uid-of-" + node},
		"authentication.kubernetes.io/credential-id": {"JTI=1"},
	}
}

// agent is the usual user.
func agent() user.Info { return tokenOf("agent", claimsOf("agent-me", "uid-me", "me")) }

// complete adds the defaults to a row.
func (r row) complete() *request {
	a := r.asks
	if a.User = r.who; r.who == nil {
		a.User = agent()
	}
	a.ResourceRequest = a.Path == ""
	a.APIVersion = "v1"
	return &a
}

func (r row) scopeOf() string {
	if r.scope == "" {
		return usualScope
	}
	return r.scope
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			z := newOver(t, clusterOf(Account{Scope: mustScope(t, tc.scopeOf())}))
			decision, reason, err := z.Authorize(t.Context(), tc.complete())
			want := answer{authorizer.DecisionDeny, tc.reason, nil}
			if tc.passed {
				want.Decision = authorizer.DecisionNoOpinion
			}
			if diff := cmp.Diff(want, answer{decision, reason, err}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func selectingField(field string, operator selection.Operator, value string) fields.Requirements {
	return fields.Requirements{{Field: field, Operator: operator, Value: value}}
}

// allRows are the rows of all tables.
func allRows() []row {
	return slices.Concat(nodeRows(), kubeletRows(), podRows(), customRows(), impersonationRows(), tokenRows(), grantRows(),
		identityRows(), scopeRows())
}
