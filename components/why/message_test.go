// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const secretDenied = `secrets "tls" is forbidden: User "system:node:worker-1" cannot get resource "secrets" in API ` +
	`group "" in the namespace "default": no relationship found between node 'worker-1' and this object`

func TestParseMessage(t *testing.T) {
	d := ParseMessage("Error from server (Forbidden): " + secretDenied + " [NA-SECRET-1]\n")
	want := &Request{User: "system:node:worker-1", Groups: []string{"system:nodes", "system:authenticated"}, Verb: "get",
		Resource: "secrets", Namespace: "default", Name: "tls"}
	if diff := cmp.Diff(want, d.Request); diff != "" || d.Authorized {
		t.Errorf("authorized %v (-want +got)\n%s", d.Authorized, diff)
	}
	if d.Reason != "no relationship found between node 'worker-1' and this object [NA-SECRET-1]" {
		t.Errorf("reason %q", d.Reason)
	}
	d = ParseMessage(`forbidden: User "u" cannot get path "/metrics"`)
	if d.Request == nil || d.Request.Path != "/metrics" || d.Request.Verb != "get" {
		t.Errorf("path: %+v", d.Request)
	}
	d = ParseMessage(`leases.coordination.k8s.io is forbidden: User "u" cannot list resource "leases/x" in API group ` +
		`"coordination.k8s.io" at the cluster scope`)
	if d.Request == nil || d.Request.ResourceName() != "leases/x.coordination.k8s.io" || d.Request.Namespace != "" {
		t.Errorf("cluster scope: %+v", d.Request)
	}
}

func TestExplainMessages(t *testing.T) {
	const node = `User "system:node:a" cannot `
	for _, row := range []struct {
		name, message string
		step          Step
		by            string
		rules         []rules.ID
		option        string
	}{
		{"node-authorizer", secretDenied + " [NA-SECRET-1]", Authorization, "Bulkhead's node-authorizer",
			[]rules.ID{"NA-SECRET-1"}, "A pod that is bound to node worker-1 must use secret default/tls"},
		{"in-tree Node authorizer", secretDenied, Authorization, "Kubernetes' own Node authorizer, which decides like",
			[]rules.ID{"NA-SECRET-1"}, "A pod that is bound to node worker-1 must use secret default/tls"},
		{"in-tree, other node", `nodes "b" is forbidden: ` + node + `get resource "nodes" in API group "" at the cluster ` +
			`scope: node 'a' cannot read 'b', only its own Node object`, Authorization, "Kubernetes' own Node authorizer",
			[]rules.ID{"NA-NODE-1"}, "for the node's own Node, by its name. Beyond its rules"},
		{"in-tree, no text", `nodes "b" is forbidden: ` + node + `delete resource "nodes" in API group "" at the cluster ` +
			`scope`, Authorization, "no authorizer allows it: Kubernetes' own Node authorizer has no rule",
			[]rules.ID{"NA-NODE-2"}, ""},
		{"not ready, then in-tree", secretDenied + "", Authorization, "Kubernetes' own", []rules.ID{"NA-SECRET-1"}, ""},
		{"only the in-tree text", "node 'a' cannot read all nodes, only its own Node object", Authorization,
			"Kubernetes' own Node authorizer", []rules.ID{"NA-NODE-1"}, ""},
		{"path", `forbidden: User "system:node:a" cannot get path "/metrics"`, Authorization,
			"no authorizer allows it: Kubernetes' own Node authorizer has no rule", []rules.ID{"NA-PASS-1"},
			"a node another path, for example /metrics"},
		{"path, node-authorizer", `forbidden: ` + node + `get path "/logs": no rule allows a node to get /logs [NA-PASS-1]`,
			Authorization, "Bulkhead's node-authorizer by this rule", []rules.ID{"NA-PASS-1"}, "another path"},
		{"left to RBAC", `selfsubjectreviews.authentication.k8s.io is forbidden: ` + node + `create resource ` +
			`"selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope: left to the next authorizers ` +
			`[NA-PASS-2]`, Authorization, "no authorizer allows it", []rules.ID{"NA-PASS-2"},
			"ClusterRole system:basic-user must be bound to group system:authenticated"},
		{"left to RBAC by node scope", `pods is forbidden: User "system:serviceaccount:n:s" cannot list resource "pods" in ` +
			`API group "" in the namespace "m": [NS-PASS-1]`, Authorization, "no authorizer allows it",
			[]rules.ID{"NS-PASS-1"}, "kubectl -n m create role NAME --verb=list --resource=pods"},
		{"node scope, rule of nodes", `pods is forbidden: User "system:serviceaccount:n:s" cannot list resource "pods" in ` +
			`API group "" at the cluster scope: a pod is limited: no [NA-POD-2] [NS-POD-1]`, Authorization,
			"Bulkhead's node scope by this rule", []rules.ID{"NA-POD-2", "NS-POD-1"}, "For the node, NA-POD-2: Add"},
		{"RBAC", `pods is forbidden: User "system:serviceaccount:n:s" cannot list resource "pods" in API group "" in the ` +
			`namespace "m"`, Authorization, "no authorizer allows it", nil,
			"kubectl -n m create rolebinding NAME --role=NAME --serviceaccount=n:s"},
		{"RBAC, subresource and group", `deployments.apps "d" is forbidden: User "u" cannot patch resource ` +
			`"deployments/scale" in API group "apps" in the namespace "m"`, Authorization, "no authorizer allows it", nil,
			"kubectl -n m create role NAME --verb=patch --resource=deployments.apps/scale --resource-name=d"},
		{"node-restriction", `nodes "a" is forbidden: no [NR-NODESPEC-2]`, Admission, "Bulkhead's node-restriction",
			[]rules.ID{"NR-NODESPEC-2"}, "bulkhead install --rule-mode=NR-NODESPEC-2=audit"},
		{"label of the policy", `nodes "a" is forbidden: node "a" is not allowed to set the following labels: x.io/y ` +
			`[NR-LABEL-1]`, Admission, "Bulkhead's node-restriction", []rules.ID{"NR-LABEL-1"},
			`nodePolicy: {allowedLabels: ["x.io/y"]}`},
		{"two rules, one of them twice", `pods "p" is forbidden: no [NS-ADMIT-1] [NR-POD-6] [NS-ADMIT-1]`, Admission,
			"Bulkhead's node scope", []rules.ID{"NS-ADMIT-1", "NR-POD-6"}, ""},
		{"a policy for nodes/proxy", `nodes "a" is forbidden: ValidatingAdmissionPolicy 'kubelet-api.bulkhead.dev' with ` +
			`binding 'b' denied request: no [KA-VAP-1]`, Admission, "Bulkhead's ValidatingAdmissionPolicy",
			[]rules.ID{"KA-VAP-1"}, "--rule-mode=KA-VAP-1=audit"},
		{"another policy", `pods "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`,
			Admission, "another ValidatingAdmissionPolicy", nil, ""},
		{"kubelet-auth-proxy", `Forbidden (user=u, verb=create, resource=nodes, subresource(s)=[exec]) [KA-EXEC-1]`, Kubelet,
			"Bulkhead's kubelet-auth-proxy", []rules.ID{"KA-EXEC-1"},
			"RBAC: a ClusterRole with verb create on nodes/exec, bound to the user of the client"},
		{"kubelet", `Forbidden (user=u, verb=get, resource=nodes, subresource(s)=[healthz proxy])`, Kubelet, "the kubelet",
			nil, "RBAC: a ClusterRole with verb get on nodes/healthz, bound to the user of the client"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, err := Explain(ParseMessage(row.message))
			if err != nil {
				t.Fatal(err)
			}
			if a.Step != row.step || !strings.HasPrefix(a.By, row.by) || a.Outcome != Denied {
				t.Errorf("%s at %s by %q", a.Outcome, a.Step, a.By)
			}
			var ids []rules.ID
			for _, r := range a.Rules {
				ids = append(ids, r.ID)
			}
			if diff := cmp.Diff(row.rules, ids); diff != "" {
				t.Errorf("rules (-want +got)\n%s", diff)
			}
			if text := printed(t, a); !strings.Contains(text, row.option) {
				t.Errorf("want %q in\n%s", row.option, text)
			}
		})
	}
}

func printed(t *testing.T, a *Answer) string {
	t.Helper()
	var b strings.Builder
	if err := a.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUnrelatedIsSeveralRules: the text alone does not say which object was read.
func TestUnrelatedIsSeveralRules(t *testing.T) {
	a, err := Explain(ParseMessage("no relationship found between node 'a' and this object"))
	if err != nil || len(a.Rules) < 8 || len(a.Notes) != 1 {
		t.Errorf("%v: %+v", err, a)
	}
}

func TestExplainTellsWhatItDoesNotKnow(t *testing.T) {
	for _, message := range []string{"", "hello", "x [NR-NODE-999]", strings.Repeat("[", 1<<20),
		`User "u" cannot `, "Forbidden (user=", strings.Repeat("Error from server: ", 1000)} {
		if a, err := Explain(ParseMessage(message)); err == nil {
			t.Errorf("%.40q is explained: %+v", message, a)
		}
	}
}

// TestHostileTextIsPrintable: a user chooses names, and they can be in a message.
func TestHostileTextIsPrintable(t *testing.T) {
	const evil = "\x1b[2J\u202e"
	for _, message := range []string{
		`secrets "a; rm -rf /" is forbidden: User "$(id)` + evil + `" cannot get resource "secrets" in API group "" in the ` +
			`namespace "n": ` + evil + `[NA-SECRET-1]`,
		`Forbidden (user=` + evil + `; id, verb=get, resource=nodes, subresource(s)=[proxy])`,
		`nodes "` + evil + `" is forbidden: ` + evil + ` [NR-NODESPEC-2]`,
	} {
		a, err := Explain(ParseMessage(message))
		if err != nil {
			t.Fatal(err)
		}
		text := printed(t, a)
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("not printable: %q", text)
		}
		if strings.Contains(text, "kubectl") {
			t.Errorf("a command with a name of an attacker:\n%s", text)
		}
	}
}
