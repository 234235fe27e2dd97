// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// sent is what the API server has received.
type sent struct{ Method, URL, User, Groups, Extra, ContentType, Body string }

// answering returns the configuration of a server that answers every request with the status, and
// what it receives.
func answering(t *testing.T, status metav1.Status) (*rest.Config, *sent) {
	t.Helper()
	received := &sent{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		*received = sent{req.Method, req.URL.String(), req.Header.Get("Impersonate-User"),
			strings.Join(req.Header.Values("Impersonate-Group"), ","),
			req.Header.Get("Impersonate-Extra-Authentication.kubernetes.io%2fnode-Name"),
			req.Header.Get("Content-Type"), string(body)}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		_ = json.NewEncoder(w).Encode(status)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, BearerToken: "mine"}, received
}

const nodeYAML = "apiVersion: v1\nkind: Node\nmetadata:\n  name: worker-1\n"

// askWith asks with the object, and returns the answer as text.
func askWith(t *testing.T, config *rest.Config, r *Request, object string) (*Answer, string) {
	t.Helper()
	o, err := ParseObject([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(o, false); err != nil {
		t.Fatal(err)
	}
	write, err := DryRun(config, o)
	if err != nil {
		t.Fatal(err)
	}
	allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "[NA-NODE-2]"}
	a, err := Asker{Client: cluster(allowed), Write: write}.Ask(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a, printed(t, a)
}

func TestDryRunAsTheUser(t *testing.T) {
	denied := func(message string) metav1.Status {
		return metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden, Message: message}
	}
	for _, row := range []struct {
		name   string
		status metav1.Status
		want   Outcome
		step   Step
		text   []string
	}{
		{"accepted", metav1.Status{Status: "Success", Code: 200}, Allowed, Admission,
			[]string{"and admission accepts the object (dry run)"}},
		{"node-restriction", denied(`admission webhook "w" denied the request: no providerID [NR-NODESPEC-2]`), Denied,
			Admission, []string{"Rule:        NR-NODESPEC-2\n", "Denied by:   Bulkhead's node-restriction\n",
				"The authorizers allow the request.", "--rule-mode=NR-NODESPEC-2=audit"}},
		{"in-tree NodeRestriction", denied(`nodes "worker-1" is forbidden: node "worker-1" is not allowed to modify taints`),
			Denied, Admission, []string{"Kubernetes' own NodeRestriction plugin", "Rule:        NR-NODE-4\n"}},
		{"another webhook", denied(`admission webhook "x.example.com" denied the request: no`), Denied, Admission,
			[]string{"another admission webhook"}},
		{"invalid", metav1.Status{Status: "Failure", Code: 422, Message: "Node is invalid"}, Denied, Admission,
			[]string{"with code 422: not a question of rights"}},
		{"may not impersonate", denied(`users "system:node:worker-1" is forbidden: User "alice" cannot impersonate ` +
			`resource "users" in API group "" at the cluster scope`), Allowed, Authorization,
			[]string{"your user may not impersonate system:node:worker-1",
				"needs the verb impersonate on users or serviceaccounts"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			config, _ := answering(t, row.status)
			a, text := askWith(t, config, request(t, "system:node:worker-1", "update", "nodes", "", ""), nodeYAML)
			if a.Outcome != row.want || a.Step != row.step {
				t.Errorf("%s at %s", a.Outcome, a.Step)
			}
			for _, want := range row.text {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
	}
}

func TestWhatADryRunSends(t *testing.T) {
	const account = "system:serviceaccount:n:s"
	config, got := answering(t, metav1.Status{Status: "Success", Code: 200})
	for _, row := range []struct {
		r      *Request
		object string
		want   sent
	}{
		{request(t, "system:node:worker-1", "update", "nodes", "", ""), nodeYAML,
			sent{"PUT", "/api/v1/nodes/worker-1?dryRun=All", "system:node:worker-1", "system:nodes", "",
				"application/json", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"worker-1"}}` + "\n"}},
		{request(t, "system:node:worker-1", "create", "nodes", "", ""), nodeYAML,
			sent{Method: "POST", URL: "/api/v1/nodes?dryRun=All", ContentType: "application/json"}},
		{request(t, "system:node:worker-1", "patch", "nodes", "", ""), nodeYAML,
			sent{Method: "PATCH", URL: "/api/v1/nodes/worker-1?dryRun=All", ContentType: "application/merge-patch+json"}},
		{&Request{User: account, Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"a"}}, Verb: "create",
			Version: "v1", Resource: "serviceaccounts", Subresource: "token", Namespace: "n", Name: "s"},
			"apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\n",
			sent{Method: "POST", URL: "/api/v1/namespaces/n/serviceaccounts/s/token?dryRun=All", Extra: "a",
				ContentType: "application/json"}},
		{&Request{User: account, Verb: "delete", Group: "coordination.k8s.io", Version: "v1", Resource: "leases",
			Namespace: "default"}, "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: l, namespace: m}\n",
			sent{Method: "DELETE", URL: "/apis/coordination.k8s.io/v1/namespaces/m/leases/l?dryRun=All",
				ContentType: "application/json", Body: `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`}},
	} {
		askWith(t, config, row.r, row.object)
		if row.want.User == "" {
			got.User, got.Groups = "", ""
		}
		if row.want.Body == "" {
			got.Body = ""
		}
		if diff := cmp.Diff(row.want, *got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", row.r, diff)
		}
	}
}

func TestADryRunThatIsNotSent(t *testing.T) {
	config, got := answering(t, metav1.Status{Status: "Success", Code: 200})
	_, text := askWith(t, config, request(t, "u", "get", "nodes", "", ""), nodeYAML)
	if !strings.Contains(text, "Admission was not asked: cannot write with verb get") || got.Method != "" {
		t.Errorf("sent %+v\n%s", got, text)
	}
	_, text = askWith(t, config, request(t, "u", "update", "nodes", "", "../pods"), nodeYAML)
	if !strings.Contains(text, `cannot write to "../pods"`) || got.Method != "" {
		t.Errorf("sent %+v\n%s", got, text)
	}
	// These reach a kubelet, and are not dry runs.
	for _, subresource := range []string{"proxy", "exec", "attach", "portforward", "other"} {
		r := request(t, "u", "create", "pods", "n", "p")
		r.Subresource = subresource
		if _, text = askWith(t, config, r, nodeYAML); !strings.Contains(text, "has no dry run of pods/") || got.Method != "" {
			t.Errorf("%s: sent %+v\n%s", subresource, got, text)
		}
	}
	read := request(t, "u", "get", "nodes", "", "")
	read.Subresource = "proxy"
	if _, text = askWith(t, config, read, nodeYAML); !strings.Contains(text, "has no dry run of nodes/proxy") ||
		strings.Contains(text, "-f") {
		t.Errorf("got\n%s", text)
	}
	r := request(t, "u", "update", "nothings", "", "")
	r.Version = ""
	if _, text = askWith(t, config, r, nodeYAML); !strings.Contains(text, "has no resource nothings") {
		t.Errorf("got\n%s", text)
	}
}

func TestHostileObjects(t *testing.T) {
	for name, row := range map[string]struct{ object, want string }{
		"empty":     {"", "no apiVersion"},
		"list":      {"- a\n- b\n", "cannot read the object"},
		"no kind":   {"apiVersion: v1\n", "no apiVersion or no kind"},
		"too long":  {strings.Repeat("#", MaxObject+1), "longer than 3 MiB"},
		"not YAML":  {"a: [", "cannot read the object"},
		"odd types": {"apiVersion: 1\nkind: {}\n", "no apiVersion or no kind"},
	} {
		if _, err := ParseObject([]byte(row.object)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o, err := ParseObject([]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: m}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := request(t, "u", "create", "pods", "n", "").Complete(o, true); err == nil {
		t.Error("an object of another namespace than -n is accepted")
	}
}
