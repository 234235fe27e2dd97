// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// collectorLog is the audit log of a log collector on worker-1. It lists the pods of its node and
// reads Endpoints. Its request to list secrets is denied.
const collectorLog = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/pods?fieldSelector=spec.nodeName%3Dworker-1","verb":"list",` +
	`"user":{"username":"system:serviceaccount:ns:collector",` +
	`"extra":{"authentication.kubernetes.io/node-name":["worker-1"],` +
	`"authentication.kubernetes.io/pod-name":["collector-x"],"authentication.kubernetes.io/pod-uid":["u"]}},` +
	`"objectRef":{"resource":"pods","apiVersion":"v1"},` +
	`"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z","annotations":{"authorization.k8s.io/decision":"allow"}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/namespaces/ns/endpoints/e","verb":"get",` +
	`"user":{"username":"system:serviceaccount:ns:collector",` +
	`"extra":{"authentication.kubernetes.io/node-name":["worker-1"],` +
	`"authentication.kubernetes.io/pod-name":["collector-x"],"authentication.kubernetes.io/pod-uid":["u"]}},` +
	`"objectRef":{"resource":"endpoints","namespace":"ns","name":"e","apiVersion":"v1"},` +
	`"requestReceivedTimestamp":"2026-01-02T03:05:05.000000Z","annotations":{"authorization.k8s.io/decision":"allow"}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/secrets","verb":"list",` +
	`"user":{"username":"system:serviceaccount:ns:collector"},"objectRef":{"resource":"secrets","apiVersion":"v1"},` +
	`"requestReceivedTimestamp":"2026-01-02T03:06:05.000000Z","annotations":{"authorization.k8s.io/decision":"forbid"}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/secrets","verb":"list",` +
	`"user":{"username":"alice"},"objectRef":{"resource":"secrets","apiVersion":"v1"}}
`

func collectorCluster() []runtime.Object {
	return []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}},
		scopeAccount("collector", nil),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "collector"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods", "endpoints", "nodes"}, Verbs: []string{"get", "list"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "collector"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "collector"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ns", Name: "collector"}},
		},
	}
}

func suggestFor(t *testing.T, o suggestOptions, stdin string) (string, error) {
	t.Helper()
	cmd := newScopeSuggestCommand()
	cmd.SetContext(t.Context())
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&strings.Builder{})
	cmd.SetIn(strings.NewReader(stdin))
	err := o.suggest(cmd, fake.NewClientset(collectorCluster()...), scopelist.Account{Namespace: "ns", Name: "collector"})
	return out.String(), err
}

func TestScopeSuggest(t *testing.T) {
	got, err := suggestFor(t, suggestOptions{output: "table", logs: []string{"-"}}, collectorLog)
	if err != nil {
		t.Fatal(err)
	}
	want := `2 requests of ns/collector were allowed, from 2026-01-02T03:04:05Z to 2026-01-02T03:05:05Z; ` +
		`1 more were denied, and do not count.

RESOURCE   SEEN  OTHER NODES  IN THE SCOPE  DENIED ON OTHER NODES / WHY NOT
endpoints  1     1            no            get endpoints ns/e: ` +
		`a pod on node 'worker-1' is limited to what that node may do: REASON
nodes      0     0            yes           get,list
pods       1     0            yes           get,list

kubectl -n ns annotate --overwrite serviceaccount collector \
  bulkhead.dev/node-scope-mode=audit \
  bulkhead.dev/node-scoped-resources='nodes,pods'
`
	before, rest, _ := strings.Cut(got, "may do: ")
	_, after, _ := strings.Cut(rest, "\n")
	if diff := cmp.Diff(want, before+"may do: REASON\n"+after); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if reason, _, _ := strings.Cut(rest, "\n"); !strings.HasSuffix(reason, "[NS-SCOPE-1]") {
		t.Errorf("the reason is %q", reason)
	}
}

func TestScopeSuggestMovesNoCursor(t *testing.T) {
	hostile := strings.ReplaceAll(collectorLog, `"name":"e"`, `"name":"\u001b[2J\te"`)
	got, err := suggestFor(t, suggestOptions{output: "table", logs: []string{"-"}}, hostile)
	if err != nil || strings.Contains(got, "\x1b") || !strings.Contains(got, "get endpoints ns/\ufffd[2J\ufffde:") {
		t.Errorf("error %v, output %q", err, got)
	}
}

func TestScopeSuggestOfFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(collectorLog), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := suggestFor(t, suggestOptions{output: "json", logs: []string{file, file}}, "")
	if err != nil || !strings.Contains(got, `"annotation": "nodes,pods"`) || !strings.Contains(got, `"Requests": 4`) {
		t.Errorf("error %v, output %s", err, got)
	}
}

func TestScopeSuggestErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no namespace", []string{"collector", "--audit-log=-"}, "want NAMESPACE/SERVICEACCOUNT"},
		{"no name of an account", []string{"ns/Collector", "--audit-log=-"}, "is no ServiceAccount"},
		{"no log", []string{"ns/collector"}, "--audit-log is missing"},
		{"another form", []string{"ns/collector", "--audit-log=-", "-o", "yaml"}, "use table or json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := newScopeSuggestCommand()
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(tc.args)
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	for name, o := range map[string]suggestOptions{
		missing:                        {output: "table", logs: []string{missing}},
		"no line of it is an event":    {output: "table", logs: []string{"-"}},
		"the resource is not a custom": {output: "table", logs: []string{"-"}, custom: "widgets"},
	} {
		if _, err := suggestFor(t, o, "not a log\n"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}
