// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const unrelated = "no relationship found between node 'worker-1' and this object [NA-SECRET-1]"

// cluster answers every review with the status, and has the objects.
func cluster(status authorizationv1.SubjectAccessReviewStatus, objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "subjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SubjectAccessReview{Status: status}, nil
	})
	return client
}

func request(t *testing.T, user, verb, resource, namespace, name string, who ...Identity) *Request {
	t.Helper()
	r := &Request{Verb: verb, Resource: resource, Version: "v1", Namespace: namespace, Name: name}
	if err := r.As(user, append(who, Identity{})[0]); err != nil {
		t.Fatal(err)
	}
	return r
}

// podOf returns a pod that uses the secret default/tls.
func podOf(name, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Volumes: []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}}}}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func mirror(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }

func TestAskAboutASecret(t *testing.T) {
	denied := authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: unrelated}
	allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "[NA-SECRET-1]"}
	const path = "node worker-1 <- pod default/web <- secret default/tls\n"
	for _, row := range []struct {
		name    string
		status  authorizationv1.SubjectAccessReviewStatus
		objects []runtime.Object
		want    []string
		not     string
	}{
		{"allowed", allowed, []runtime.Object{podOf("web", "worker-1")},
			[]string{"Decision:    allowed at authorization\n", "Allowed by:  Bulkhead's node-authorizer\n",
				"Path:        " + path}, "Note:        The decision"},
		{"a pod elsewhere", denied, []runtime.Object{podOf("web", "worker-2")},
			[]string{"Path:        no pod on node worker-1 uses secret default/tls; pods that are not on it do\n",
				"node worker-2 <- pod default/web <- secret default/tls\n",
				"To allow:    A pod that is bound to node worker-1 must use secret default/tls"}, "The decision"},
		{"a pod that is not bound", denied, []runtime.Object{podOf("web", "")},
			[]string{"no node <- pod default/web <- secret default/tls\n"}, "The decision"},
		{"no pod", denied, nil, []string{"no pod on node worker-1 uses secret default/tls, and no other pod does\n"},
			"The decision"},
		{"a pod of another namespace", denied, []runtime.Object{podOf("web", "worker-1",
			func(p *corev1.Pod) { p.Namespace = "other" })}, []string{"and no other pod does\n"}, "The decision"},
		{"a mirror pod", denied, []runtime.Object{podOf("web", "worker-1", mirror)},
			[]string{"a mirror pod does, but mirror pods give no access\n"}, "The decision"},
		{"late: denied with a path", denied, []runtime.Object{podOf("web", "worker-1")},
			[]string{"Path:        " + path, "BulkheadViewStale"}, ""},
		{"late: allowed without a path", allowed, []runtime.Object{podOf("web", "worker-2")},
			[]string{"BulkheadViewStale"}, ""},
		{"a pod that has ended", denied, []runtime.Object{podOf("web", "worker-1",
			func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })},
			[]string{"rule NA-POD-6 does not accept this path"}, "The decision"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := request(t, "system:node:worker-1", "get", "secrets", "default", "tls")
			a, err := Asker{Client: cluster(row.status, row.objects...)}.Ask(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			text := printed(t, a)
			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
			if row.not != "" && strings.Contains(text, row.not) {
				t.Errorf("has %q:\n%s", row.not, text)
			}
		})
	}
}

func TestAskNamesTheDecider(t *testing.T) {
	type status = authorizationv1.SubjectAccessReviewStatus
	const masters, node, alice = "admin", "system:node:worker-1", "alice"
	for _, row := range []struct {
		name, user string
		status     status
		want       string
	}{
		{"RBAC", alice, status{Allowed: true, Reason: `RBAC: allowed by RoleBinding "b/n"`}, "Allowed by:  RBAC\n"},
		{"system:masters", masters, status{Allowed: true}, "Allowed by:  the group system:masters, which may"},
		{"in-tree Node", node, status{Allowed: true}, "Allowed by:  Kubernetes' own Node authorizer\n"},
		{"an authorizer without a reason", alice, status{Allowed: true}, "Allowed by:  an authorizer that gives no reason\n"},
		{"no authorizer", alice, status{}, "Denied by:   no authorizer allows it\n"},
		{"no authorizer: the role", alice, status{},
			"RBAC: a Role in namespace default with verb get on secrets, bound to alice."},
		{"another authorizer", alice, status{Denied: true, Reason: "no"}, "Denied by:   another authorizer\n"},
		{"parity", node, status{Reason: unrelated}, "Bulkhead's node-authorizer by this rule, and no later authorizer"},
		{"unready, then in-tree", node, status{Reason: "the node authorizer is late [NA-UNREADY]\n" +
			strings.TrimSuffix(unrelated, " [NA-SECRET-1]")}, "Denied by:   Kubernetes' own Node authorizer, which decides"},
		{"node scope", "system:serviceaccount:n:s", status{Denied: true, Reason: "no [NS-SCOPE-1]"},
			"Denied by:   Bulkhead's node scope\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			who := Identity{}
			if row.user == masters {
				who.Groups = []string{"system:masters"}
			}
			r := request(t, row.user, "get", "secrets", "default", "tls", who)
			a, err := Asker{Client: cluster(row.status)}.Ask(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if text := printed(t, a); !strings.Contains(text, row.want) {
				t.Errorf("want %q in\n%s", row.want, text)
			}
		})
	}
}

func TestReviewIsOfTheWholeUser(t *testing.T) {
	account := request(t, "system:serviceaccount:n:s", "get", "secrets", "n", "x", Identity{NodeName: "a"}).review().Spec
	const groups = "system:serviceaccounts system:serviceaccounts:n system:authenticated"
	if got := strings.Join(account.Groups, " "); got != groups {
		t.Errorf("groups %s", got)
	}
	if got := account.Extra["authentication.kubernetes.io/node-name"]; len(got) != 1 || got[0] != "a" {
		t.Errorf("extra %v", account.Extra)
	}
	node := request(t, "system:node:a", "get", "secrets", "n", "x").review().Spec
	if got := strings.Join(node.Groups, " "); got != "system:nodes system:authenticated" || node.Extra != nil {
		t.Errorf("node: %s %v", got, node.Extra)
	}
	anonymous := request(t, "system:anonymous", "get", "x", "", "").Groups
	if len(anonymous) != 1 || anonymous[0] != "system:unauthenticated" {
		t.Errorf("anonymous: %v", anonymous)
	}
	var r Request
	if err := r.As("system:node:a", Identity{NodeName: "a"}); err == nil {
		t.Error("--node-name for a node is accepted")
	}
	if err := r.As("", Identity{}); err == nil {
		t.Error("no name is accepted")
	}
}

func TestTheCallerMayNotAsk(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "subjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", nil)
	})
	_, err := Asker{Client: client}.Ask(context.Background(), request(t, "u", "get", "secrets", "n", "x"))
	if err == nil || !strings.Contains(err.Error(), "use credentials that may create subjectaccessreviews") {
		t.Errorf("got %v", err)
	}
}

// TestThePathIsUnknown: the caller may ask, but may not list pods.
func TestThePathIsUnknown(t *testing.T) {
	client := cluster(authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: unrelated})
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	})
	a, err := Asker{Client: client}.Ask(context.Background(),
		request(t, "system:node:worker-1", "get", "secrets", "default", "tls"))
	if err != nil || a.Path.Unknown == "" || a.Outcome != Denied {
		t.Fatalf("%v: %+v", err, a)
	}
	if text := printed(t, a); !strings.Contains(text, "Path:        unknown: ") || strings.Contains(text, "The decision") {
		t.Errorf("got\n%s", text)
	}
}
