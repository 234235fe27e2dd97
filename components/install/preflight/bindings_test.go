// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestRightsOfNodes: what such a right allows works until mode enforce.
func TestRightsOfNodes(t *testing.T) {
	const (
		remedy = " `bulkhead audit`: it lists the requests. Give each workload that needs the right its own ServiceAccount"
		denied = `agents gives Group "system:nodes" the ClusterRole view. node-authorizer denies nodes what no rule ` +
			"allows, also if RBAC allows it. Install with `mode: audit` first, and read"
	)
	view := clusterBinding("agents", "ClusterRole", "view", group("system:nodes"))
	everything := clusterBinding("system:node", "ClusterRole", "system:node", group("system:nodes"))
	for _, tc := range []struct {
		name    string
		in      Input
		binding *rbacv1.ClusterRoleBinding
		level   Level
		says    string
	}{
		{"mode enforce", Input{Profile: "hardened"}, view, Fail, denied + remedy},
		{"mode enforce, ClusterRole system:node", Input{Profile: "hardened"}, everything, Fail, "`mode: audit` first"},
		{"mode enforce, one node", Input{Profile: "hardened"}, clusterBinding("agents", "ClusterRole", "view",
			rbacv1.Subject{Kind: "User", Name: "system:node:worker"}), Fail, "`mode: audit` first"},
		{"mode enforce, accepted", Input{Profile: "hardened", Accepted: []string{"rights-of-nodes-by-RBAC"}}, view, Warn,
			"`mode: audit` first"},
		{"mode audit", Input{Profile: "hardened", AuditOnly: true}, view, Warn, "Read" + remedy},
		{"mode enforce is installed", Input{Profile: "hardened", Enforces: true}, view, Warn,
			"without effect on nodes while"},
		{"mode enforce, binding of kubeadm", Input{Profile: "hardened"},
			clusterBinding("kubeadm:node-autoapprove-certificate-rotation", "ClusterRole", "x", group("system:nodes")), OK,
			"none but"},
		{"mode enforce, other subject of system:node", Input{Profile: "hardened"},
			clusterBinding("sneaky", "ClusterRole", "system:node", group("ops")), Warn, "denies this only to nodes"},
		{"parity", Input{Profile: "parity"}, view, Warn, "in addition to Bulkhead's"},
		{"parity, ClusterRole system:node: cannot be accepted",
			Input{Profile: "parity", Accepted: []string{"rights-of-nodes-by-RBAC"}}, everything, Fail, "remove the subject"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Client = fake.NewClientset(tc.binding)
			if !slices.Contains(Acceptable(), "rights-of-nodes-by-RBAC") {
				t.Error("the flag does not accept it")
			}
			findings, err := compatibilityFindings(t.Context(), tc.in)
			wantOne(t, of(findings, bindingCheck), err, tc.level, tc.says)
		})
	}
	// bulkhead doctor judges a cluster where the binding allows nothing any more.
	findings, err := Bindings(t.Context(), Input{Profile: "hardened", Client: fake.NewClientset(view)})
	wantOne(t, findings, err, Warn, "without effect on nodes while")
}

// TestRightsLeftToRBAC has the roles that the texts of NR-SA-4, NR-PCR-5 and NA-PASS-4 advise.
// node-authorizer leaves these requests to RBAC.
func TestRightsLeftToRBAC(t *testing.T) {
	const audience, signer = "request-serviceaccounts-token-audience", "request-serviceaccounts-podcertificate-signer"
	right := func(group, resource, name string, verbs ...string) rbacv1.PolicyRule {
		r := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
		if name != "" {
			r.ResourceNames = []string{name}
		}
		return r
	}
	vault, proxy := right("", "vault", "app", audience), right("", "configmaps", "kube-proxy", "get")
	for _, tc := range []struct {
		name, namespace string
		rights          []rbacv1.PolicyRule
		allowed         bool
	}{
		{"audience", "shop", []rbacv1.PolicyRule{vault}, true},
		{"signer", "shop", []rbacv1.PolicyRule{right("certificates.k8s.io", "x.io:y", "app", signer)}, true},
		{"audience and signer", "shop",
			[]rbacv1.PolicyRule{vault, right("certificates.k8s.io", "x.io:y", "app", signer)}, true},
		{"audience and get", "shop", []rbacv1.PolicyRule{right("", "vault", "app", audience, "get")}, false},
		{"audience, and secrets", "shop", []rbacv1.PolicyRule{vault, right("", "secrets", "", "get")}, false},
		{"audience in another group", "shop", []rbacv1.PolicyRule{right("x.io", "vault", "app", audience)}, false},
		{"every verb", "shop", []rbacv1.PolicyRule{right("", "vault", "app", "*")}, false},
		{"no rights", "shop", nil, false},
		{"config map of kube-proxy", "kube-system", []rbacv1.PolicyRule{proxy}, true},
		{"config map of kube-proxy, other namespace", "shop", []rbacv1.PolicyRule{proxy}, false},
		{"config map of kube-proxy, list", "kube-system",
			[]rbacv1.PolicyRule{right("", "configmaps", "kube-proxy", "get", "list")}, false},
		{"other config map", "kube-system", []rbacv1.PolicyRule{right("", "configmaps", "coredns", "get")}, false},
		{"all config maps", "kube-system", []rbacv1.PolicyRule{right("", "configmaps", "", "get")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Namespace: tc.namespace, Name: "granted"}
			client := fake.NewClientset(&rbacv1.Role{ObjectMeta: meta, Rules: tc.rights},
				&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "granted"},
					Subjects: []rbacv1.Subject{{Kind: "User", Name: "system:node:worker"}}})
			level, says := Warn, "without effect on nodes while"
			if tc.allowed {
				level, says = OK, "none but"
			}
			findings, err := Bindings(t.Context(), Input{Profile: "hardened", Client: client})
			wantOne(t, findings, err, level, says)
		})
	}
}

func of(findings []Finding, check string) []Finding {
	return slices.DeleteFunc(findings, func(f Finding) bool { return !strings.HasPrefix(f.Check, check) })
}
