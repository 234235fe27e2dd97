// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

func TestScopeAnnotationsOfAccountsAndPods(t *testing.T) { run(t, markRows()) }

// TestScopeAnnotationsWrittenByNodes calls ReviewNode, which looks up no account.
func TestScopeAnnotationsWrittenByNodes(t *testing.T) {
	for _, row := range nodeMarkRows() {
		t.Run(row.name, func(t *testing.T) {
			r := world(t, "", "", func(c *Config) { c.Accounts, c.Pods, c.Unready = nil, nil, nil })
			row.check(t, r.ReviewNode(t.Context(), row.write))
		})
	}
}

func account(name string, annotations map[string]string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: annotations}}
}

// having returns a set of annotations: a neutral one, and a node-scope one unless the key is
// empty.
func having(key, value string) map[string]string {
	set := map[string]string{"example.com/note": value}
	if key != "" {
		set[key] = value
	}
	return set
}

func withAnnotations(set map[string]string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = set }
}

func bindingOf(set map[string]string) *corev1.Binding {
	return &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Annotations: set},
		Target: corev1.ObjectReference{Kind: "Node", Name: "me"}}
}

const (
	setsMarkText   = "must not set, change or remove annotations of node scope: "
	scopedAccount  = `serviceaccounts "a" is forbidden: an account with a scope `
	endsAccount    = " [NS-WRITE-1]"
	endsPod        = " [NS-WRITE-2]"
	deletesAccount = "must not delete a ServiceAccount that has an annotation of node scope: "
)

func markRows() []row {
	var rows []row
	for _, key := range scopeAnnotations {
		rows = append(rows,
			row{name: "a new account with " + key,
				write: write(admission.Create, "serviceaccounts", account("a", having(key, "x")), nil), by: "NS-WRITE-1",
				says: scopedAccount + setsMarkText + key + endsAccount},
			row{name: "an account that gets " + key,
				write: write(admission.Update, "serviceaccounts", account("a", having(key, "x")), account("a", nil)),
				by:    "NS-WRITE-1", says: scopedAccount + setsMarkText + key + endsAccount},
			row{name: "an account that loses " + key,
				write: write(admission.Update, "serviceaccounts", account("a", nil), account("a", having(key, ""))),
				by:    "NS-WRITE-1", says: scopedAccount + setsMarkText + key + endsAccount},
			row{name: "an account with another " + key,
				write: write(admission.Update, "serviceaccounts", account("a", having(key, "y")), account("a", having(key, "x"))),
				by:    "NS-WRITE-1", says: scopedAccount + setsMarkText + key + endsAccount},
			row{name: "an account with the same " + key,
				write: write(admission.Update, "serviceaccounts", account("a", map[string]string{key: "x", "more": ""}),
					account("a", having(key, "x")))},
			row{name: "no more of an account with " + key,
				write: write(admission.Delete, "serviceaccounts", nil, account("a", having(key, ""))), by: "NS-WRITE-1",
				says: scopedAccount + deletesAccount + key + endsAccount},
		)
		for _, at := range []string{"pods", "pods/status", "pods/ephemeralcontainers", "pods/resize"} {
			rows = append(rows,
				row{name: at + " that get " + key,
					write: write(admission.Update, at, aPod("mine", "me", withAnnotations(having(key, "x"))), aPod("mine", "me")),
					by:    "NS-WRITE-2",
					says:  `pods "mine" is forbidden: an account with a scope ` + setsMarkText + key + endsPod},
				row{name: at + " that lose " + key, scope: "secrets",
					write: write(admission.Update, at, aPod("theirs", "other"),
						aPod("theirs", "other", withAnnotations(having(key, "x")))), by: "NS-WRITE-2",
					says: `pods "theirs" is forbidden: an account with a scope ` + setsMarkText + key + endsPod},
				row{name: at + " with the same " + key, scope: "secrets",
					write: write(admission.Update, at, aPod("theirs", "other", withAnnotations(map[string]string{key: "x"})),
						aPod("theirs", "other", withAnnotations(having(key, "x"))))},
			)
		}
		rows = append(rows,
			row{name: "a new pod with " + key, scope: "secrets",
				write: write(admission.Create, "pods", aPod("p", "", withAnnotations(having(key, ""))), nil), by: "NS-WRITE-2",
				says: `pods "p" is forbidden: an account with a scope ` + setsMarkText + key + endsPod},
			row{name: "a binding with " + key, scope: "secrets",
				write: write(admission.Create, "pods/binding", bindingOf(having(key, "x")), nil), by: "NS-WRITE-2",
				says: `pods "p" is forbidden: an account with a scope ` + setsMarkText + key + endsPod},
			row{name: "a binding by the other door with " + key, scope: "secrets",
				write: write(admission.Create, "bindings", bindingOf(having(key, "x")), nil), by: "NS-WRITE-2",
				says: `bindings "p" is forbidden: an account with a scope ` + setsMarkText + key + endsPod},
			row{name: "no more of its node's pod with " + key,
				write: write(admission.Delete, "pods", nil, aPod("mine", "me", withAnnotations(having(key, "x"))))},
		)
	}
	return append(rows,
		row{name: "a new account without them",
			write: write(admission.Create, "serviceaccounts", account("a", having("", "x")), nil)},
		row{name: "an account with another annotation",
			write: write(admission.Update, "serviceaccounts", account("a", having("", "y")), account("a", having("", "x")))},
		row{name: "no more of an account without them",
			write: write(admission.Delete, "serviceaccounts", nil, account("a", having("", "x")))},
		row{name: "a new pod without them", scope: "secrets", write: write(admission.Create, "pods", aPod("p", ""), nil)},
		row{name: "a binding without them", scope: "secrets",
			write: write(admission.Create, "bindings", bindingOf(having("", "x")), nil)},
		row{name: "a scope, its own account having none",
			write: by(tokenOf("free", "free-me", "me"), admission.Create, "serviceaccounts",
				account("a", having(nodescope.ScopeAnnotation, "x")), nil)},
		row{name: "a scope, only its pod having one",
			write: by(tokenOf("free", "marked-me", "me"), admission.Create, "serviceaccounts",
				account("a", having(nodescope.ScopeAnnotation, "x")), nil), by: "NS-WRITE-1",
			says: scopedAccount + setsMarkText + nodescope.ScopeAnnotation + endsAccount},
		row{name: "a nil account", write: write(admission.Create, "serviceaccounts", nil, nil), by: "NS-WRITE-1",
			says: `serviceaccounts is forbidden: an account with a scope sends an unexpected type <nil>` + endsAccount},
		row{name: "a nil account as the old object",
			write: write(admission.Update, "serviceaccounts", account("a", nil), nil),
			by:    "NS-WRITE-1", says: scopedAccount + "sends an unexpected type <nil>" + endsAccount},
		row{name: "delete a nil account", write: write(admission.Delete, "serviceaccounts", nil, nil),
			by: "NS-WRITE-1", says: `serviceaccounts is forbidden: an account with a scope deletes an unexpected type <nil>` +
				endsAccount},
		row{name: "a subresource of a nil pod", scope: "secrets",
			write: write(admission.Update, "pods/new", nil, nil), by: "NS-WRITE-2",
			says: `pods is forbidden: an account with a scope sends an unexpected type <nil>` + endsPod},
	)
}

func nodeMarkRows() []row {
	owner := true
	mirror := func(set map[string]string) *corev1.Pod {
		pod := aPod("static-me", "me", withAnnotations(set), func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = ""
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "me", UID: types.UID("me-uid"),
				Controller: &owner}}
		})
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.MirrorPodAnnotationKey, "x")
		return pod
	}
	node := kubelet("me")
	rows := []row{
		{name: "a mirror pod", write: by(node, admission.Create, "pods", mirror(having("", "x")), nil)},
		{name: "a status", write: by(node, admission.Update, "pods/status", aPod("mine", "me"), aPod("mine", "me"))},
		{name: "an account", write: by(node, admission.Create, "serviceaccounts", account("a", nil), nil)},
		{name: "a scope of another object",
			write: by(&user.DefaultInfo{Name: "admin"}, admission.Create, "serviceaccounts",
				account("a", having(nodescope.ScopeAnnotation, "x")), nil)},
		{name: "another node's pod", write: by(node, admission.Delete, "pods", nil, aPod("theirs", "other")), by: "NR-POD-4",
			says: `pods "theirs" is forbidden: node "me" can only delete pods with spec.nodeName set to itself [NR-POD-4]`},
	}
	for _, key := range scopeAnnotations {
		rows = append(rows,
			row{name: "a mirror pod with " + key, write: by(node, admission.Create, "pods", mirror(having(key, "x")), nil),
				by:   "NS-WRITE-4",
				says: `pods "static-me" is forbidden: node "me" ` + setsMarkText + key + " [NS-WRITE-4]"},
			row{name: "a status with " + key,
				write: by(node, admission.Update, "pods/status", aPod("mine", "me", withAnnotations(having(key, "x"))),
					aPod("mine", "me")), by: "NS-WRITE-4",
				says: `pods "mine" is forbidden: node "me" ` + setsMarkText + key + " [NS-WRITE-4]"},
			row{name: "a status of a pod that has " + key,
				write: by(node, admission.Update, "pods/status", aPod("mine", "me", withAnnotations(having(key, "x"))),
					aPod("mine", "me", withAnnotations(having(key, "x"))))},
			row{name: "no more of a pod that has " + key,
				write: by(node, admission.Delete, "pods", nil, aPod("mine", "me", withAnnotations(having(key, "x"))))},
			row{name: "an account with " + key,
				write: by(node, admission.Create, "serviceaccounts", account("a", having(key, "x")), nil), by: "NS-WRITE-3",
				says: `serviceaccounts "a" is forbidden: node "me" ` + setsMarkText + key + " [NS-WRITE-3]"},
			row{name: "an account without its " + key,
				write: by(node, admission.Update, "serviceaccounts", account("a", nil), account("a", having(key, "x"))),
				by:    "NS-WRITE-3",
				says:  `serviceaccounts "a" is forbidden: node "me" ` + setsMarkText + key + " [NS-WRITE-3]"},
			row{name: "no more of an account with " + key,
				write: by(node, admission.Delete, "serviceaccounts", nil, account("a", having(key, "x"))), by: "NS-WRITE-3",
				says: `serviceaccounts "a" is forbidden: node "me" ` + deletesAccount + key + " [NS-WRITE-3]"},
		)
	}
	return rows
}
