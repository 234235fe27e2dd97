// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// installed returns the record of a host with these modes.
func installed(modes string) *corev1.ConfigMap {
	entry := `{"version":"v1","profile":"hardened","mode":"enforce","image":"i","configHash":"c","modes":"` + modes +
		`","wiring":"w"}`
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: hosts.ConfigMapName},
		Data: map[string]string{"cp-1": entry}}
}

const (
	enforced, audited = "enforce", "enforce, KA-VAP-1=audit"
	policy, rights    = "KA-VAP-1 also decides, by the path", "Rights that KA-VAP-1 accepts"
)

var connectRows = []struct {
	name, verb, resource, modes string
	want                        []string
	not                         string
}{
	{"get nodes/proxy", "get", "nodes/proxy", enforced, []string{"Decision:    allowed at authorization\n",
		"also decides about nodes/proxy, with every verb", policy, "Its mode here: enforce.", rights,
		"/exec: create nodes/exec;", "/pods, /runningpods: get nodes/pods or get nodes/proxy;",
		"any other path: create nodes/unknown."}, "-f"},
	{"create nodes/proxy", "create", "nodes/proxy", audited, []string{policy, "Its mode here: audit."}, "-f"},
	{"rule is off", "get", "nodes/proxy", "enforce, KA-VAP-1=off", []string{policy, "Its mode here: off."}, rights},
	{"modes not known", "get", "nodes/proxy", "", []string{policy, "Its mode here: not known."}, "-f"},
	{"get pods/exec", "get", "pods/exec", enforced, []string{"also decides about pods/exec"}, policy},
	{"create pods/attach", "create", "pods/attach", enforced, []string{"also decides about pods/attach"}, "-f"},
	{"get pods/portforward", "get", "pods/portforward", enforced, []string{"also decides about pods/portforward"}, "-f"},
	{"delete pods/proxy", "delete", "pods/proxy", enforced, []string{"also decides about pods/proxy"}, "-f"},
	{"get services/proxy", "get", "services/proxy", enforced, []string{"also decides about services/proxy"}, policy},
	{"subresource without a dry run", "create", "pods/other", enforced, []string{"has no dry run"}, "-f"},
	{"deletecollection", "deletecollection", "pods", enforced, []string{"has no dry run of verb deletecollection"}, "-f"},
	{"subresource with a dry run", "create", "pods/eviction", enforced, []string{"give the object with -f"}, "CONNECT"},
	{"read", "get", "pods", enforced, []string{"Decision:    allowed"}, "Admission was not asked"},
}

func TestConnectAlsoNeedsAdmission(t *testing.T) {
	for _, row := range connectRows {
		t.Run(row.name, func(t *testing.T) {
			var objects []runtime.Object
			if row.modes != "" {
				objects = append(objects, installed(row.modes))
			}
			resource, subresource, _ := strings.Cut(row.resource, "/")
			r := request(t, "alice", row.verb, resource, "", "x")
			r.Subresource = subresource
			allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "RBAC: allowed"}
			a, err := Asker{Client: cluster(allowed, objects...)}.Ask(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			text := printed(t, a)
			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
			if strings.Contains(text, row.not) {
				t.Errorf("has %q:\n%s", row.not, text)
			}
		})
	}
}

func TestDeniedConnectHasNoNote(t *testing.T) {
	r := request(t, "alice", "get", "nodes", "", "x")
	r.Subresource = "proxy"
	a, err := Asker{Client: cluster(authorizationv1.SubjectAccessReviewStatus{})}.Ask(context.Background(), r)
	if err != nil || strings.Contains(printed(t, a), "CONNECT") {
		t.Errorf("%v\n%s", err, printed(t, a))
	}
}

func TestRightsByPathHaveEveryPath(t *testing.T) {
	text := rightsByPath()
	for _, path := range kubeletauth.ServerPaths() {
		if path.Prefix != "*" && !strings.Contains(text, "/"+path.Prefix) {
			t.Errorf("no /%s in %s", path.Prefix, text)
		}
		for _, right := range path.Rights {
			if !strings.Contains(text, right.Verb+" nodes/"+right.Subresource) {
				t.Errorf("no %s nodes/%s in %s", right.Verb, right.Subresource, text)
			}
		}
	}
}

// TestNoRoleForANode: a role would give a node the objects of all pods, not only of its own.
func TestNoRoleForANode(t *testing.T) {
	group := request(t, "joiner", "get", "secrets", "n", "s", Identity{Groups: []string{"system:nodes"}})
	for name, r := range map[string]*Request{
		"secret of a pod":         request(t, "system:node:w", "get", "secrets", "n", "s"),
		"secrets of a namespace":  request(t, "system:node:w", "list", "secrets", "n", ""),
		"resource without a rule": request(t, "system:node:w", "list", "services", "n", ""),
		"group system:nodes":      group,
		"path":                    {User: "system:node:w", Groups: []string{"system:nodes"}, Verb: "get", Path: "/metrics"},
		"name without the group":  {User: "system:node:w", Verb: "get", Resource: "secrets", Namespace: "n", Name: "s"},
	} {
		for reason, status := range map[string]authorizationv1.SubjectAccessReviewStatus{
			"none": {}, "other": {Reason: "no"}, "final": {Denied: true, Reason: "no"},
		} {
			a, err := Asker{Client: cluster(status)}.Ask(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			offline, err := Explain(Denial{Request: r, Reason: status.Reason, Message: "no"})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []*Answer{a, offline} {
				if text := printed(t, a); strings.Contains(text, "kubectl") || strings.Contains(text, "RBAC: a ") {
					t.Errorf("%s, reason %s: a role in\n%s", name, reason, text)
				}
			}
		}
	}
	kubelet, err := Explain(ParseMessage(`Forbidden (user=system:node:w, verb=create, resource=nodes, ` +
		`subresource(s)=[exec]) [KA-EXEC-1]`))
	if err != nil || strings.Contains(printed(t, kubelet), "create clusterrole") {
		t.Errorf("%v\n%s", err, printed(t, kubelet))
	}
}

func TestRemedyForANodeWithoutAReason(t *testing.T) {
	a, err := Explain(Denial{Request: request(t, "system:node:w", "get", "secrets", "n", "s")})
	if err != nil {
		t.Fatal(err)
	}
	want := Option{Text: "A pod that is bound to node w must use secret n/s, itself or through a persistent volume."}
	if !slices.Contains(a.Options, want) || len(a.Rules) != 1 || a.Rules[0].ID != "NA-SECRET-1" {
		t.Errorf("%+v", a)
	}
}

func TestAccountWithoutANode(t *testing.T) {
	const account, note = "system:serviceaccount:n:s", "The answer is for a token without a node."
	for _, row := range []struct {
		user, node string
		want       bool
	}{{account, "", true}, {account, "w", false}, {"alice", "", false}, {"system:node:w", "", false}} {
		r := request(t, row.user, "list", "pods", "n", "", Identity{NodeName: row.node})
		a, err := Asker{Client: cluster(authorizationv1.SubjectAccessReviewStatus{})}.Ask(context.Background(), r)
		if err != nil || strings.Contains(printed(t, a), note) != row.want {
			t.Errorf("%s, node %q: %v\n%s", row.user, row.node, err, printed(t, a))
		}
	}
}
