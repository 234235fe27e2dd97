// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// TestWhyOfAuditLines compares the explanation of an audit line of each component with a file. As for
// TestWhyOfEveryRule, -update writes the file again.
func TestWhyOfAuditLines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "events.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(goldenHeader)
	by := ""
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "{") {
			by = line
			continue
		}
		event, err := why.ParseEvent([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", by, err)
		}
		answer, err := why.Explain(event)
		if err != nil {
			t.Fatalf("%s: %v", by, err)
		}
		b.WriteString("$ bulkhead why - " + by)
		printTo(t, &b, answer)
	}
	expectGolden(t, "why_events.txt", b.String())
}

// TestWhyOfQuestions asks an API server about one request of each family of rules, and compares the
// answers with a file. The API server denies with the text of testdata/denials.txt. The kubelet's API has
// no such question, because the API server does not decide it: only nodes/proxy.
func TestWhyOfQuestions(t *testing.T) {
	var b strings.Builder
	b.WriteString(goldenHeader)
	ours, seen := denials(t, "denials.txt"), map[string]bool{}
	for _, r := range allRules() {
		family := number.ReplaceAllString(string(r.ID), "")
		for _, message := range ours[string(r.ID)] {
			if q, ok := questionOf(string(r.ID), message); ok && !seen[family] {
				seen[family] = true
				q.askTo(t, &b)
			}
		}
	}
	(&question{user: "alice", verb: "get", resource: "nodes/proxy", name: "worker-1"}).askTo(t, &b)
	expectGolden(t, "why_questions.txt", b.String())
	if len(seen) < 60 {
		t.Errorf("questions about only %d families of rules", len(seen))
	}
}

// number is the end of a rule ID.
var number = regexp.MustCompile(`-[0-9]+$`)

// question is USER VERB RESOURCE [NAME], with the API server's answer. Without a reason and a message, the
// request is allowed.
type question struct {
	user, verb, group, resource, namespace, name string
	// reason is that of the authorizers. final is true if they deny.
	reason string
	final  bool
	// message is that of admission, for a dry run.
	message string
}

// written is the object in a denial by a webhook, and aboutNode the node.
var (
	written   = regexp.MustCompile(`denied the request: ([a-z]+)(?:\.([a-z0-9.]+))? "([^"]+)" is forbidden: `)
	aboutNode = regexp.MustCompile(`is forbidden: node "([^"]+)"`)
)

// questionOf returns the question about the request in a denial. It returns false for a denial that no
// question gets.
func questionOf(id, message string) (*question, bool) {
	if found := written.FindStringSubmatch(message); found != nil {
		q := &question{verb: "create", group: found[2], resource: found[1], name: found[3], message: message}
		switch node := aboutNode.FindStringSubmatch(message); {
		case strings.HasPrefix(id, "NR-BOOT-"):
			q.user = "system:bootstrap:abcdef"
		case strings.Contains(message, "node-scope.bulkhead.dev"):
			q.user = "system:serviceaccount:monitoring:agent"
		case node != nil:
			q.user = "system:node:" + node[1]
		default:
			q.user = "system:node:worker-1"
		}
		switch {
		case q.resource == "persistentvolumeclaims", strings.HasPrefix(q.name, "pod-"):
			q.verb, q.resource = "patch", q.resource+"/status"
		case q.resource == "nodes", strings.Contains(message, "annotations"):
			q.verb = "update"
		case q.resource == "serviceaccounts":
			q.resource = "serviceaccounts/token"
		}
		if q.resource != "nodes" && !slices.Contains([]string{"resourceslices", "certificatesigningrequests"}, q.resource) {
			q.namespace = "default"
		}
		return q, true
	}
	d := why.ParseMessage(message)
	if d.Request == nil {
		return nil, false
	}
	r := d.Request
	resource := strings.Trim(r.Resource+"/"+r.Subresource, "/") + r.Path
	return &question{user: r.User, verb: r.Verb, group: r.Group, resource: resource, namespace: r.Namespace, name: r.Name,
		reason: d.Reason, final: !strings.HasPrefix(id, "NS-PASS") && id != "NA-UNREADY"}, true
}

// askTo asks, and writes the command and the answer.
func (q *question) askTo(t *testing.T, b *strings.Builder) {
	t.Helper()
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	resource, subresource, _ := strings.Cut(q.resource, "/")
	args := []string{q.user, q.verb, q.resource}
	if q.group != "" {
		args[2] = strings.TrimSuffix(resource+"."+q.group+"/"+subresource, "/")
	}
	if q.name != "" {
		args = append(args, q.name)
	}
	if q.namespace != "" {
		args = append(args, "-n", q.namespace)
	}
	command, object := strings.Join(args, " "), filepath.Join(t.TempDir(), "object.yaml")
	if q.message != "" {
		version := strings.TrimPrefix(q.group+"/v1", "/")
		if err := os.WriteFile(object, []byte("apiVersion: "+version+"\nkind: Thing\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args, command = append(args, "-f", object), command+" -f object.yaml"
	}
	got, err := runWhy(t, "", append(args, "--kubeconfig", kubeconfigOf(t, server.URL))...)
	if denied := q.reason+q.message != ""; denied != errors.As(err, &deniedError{}) || !denied && err != nil {
		t.Errorf("%s: error %v", command, err)
	}
	if err != nil && !strings.Contains(got, "\nTo allow:") {
		t.Errorf("nothing would allow %s:\n%s", command, got)
	}
	fmt.Fprintf(b, "$ bulkhead why %s\n%s\n", command, got)
}

// kubeconfigOf writes a kubeconfig for a server.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: \"" + url + "\"}}]\nusers: [{name: u, user: {token: t}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// enforcingHost is the record of a host with profile hardened.
const enforcingHost = `{"version":"v1","profile":"hardened","mode":"enforce","image":"i","configHash":"c",` +
	`"modes":"enforce","wiring":"w"}`

// ServeHTTP is an API server with the resource of the question, and without objects.
func (q *question) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource, _, _ := strings.Cut(q.resource, "/")
	things := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: strings.TrimPrefix(q.group+"/v1", "/"), APIResources: []metav1.APIResource{
			{Name: resource, Kind: "Thing", Namespaced: q.namespace != "", Verbs: []string{"get"}}}}
	var answer any
	code := http.StatusOK
	switch path := req.URL.Path; {
	case req.URL.Query().Get("dryRun") != "":
		answer, code = status(http.StatusForbidden, q.message), http.StatusForbidden
	case req.Method == http.MethodPost:
		answer = authorizationv1.SubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
			Status: authorizationv1.SubjectAccessReviewStatus{Allowed: q.reason == "", Denied: q.reason != "" && q.final,
				Reason: q.reason}}
	case path == "/api":
		answer = metav1.APIVersions{Versions: []string{"v1"}}
	case path == "/apis" && q.group != "":
		version := metav1.GroupVersionForDiscovery{GroupVersion: q.group + "/v1", Version: "v1"}
		answer = metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: q.group, PreferredVersion: version,
			Versions: []metav1.GroupVersionForDiscovery{version}}}}
	case path == "/apis":
		answer = metav1.APIGroupList{}
	case path == "/api/v1" && q.group == "", path == "/apis/"+q.group+"/v1":
		answer = things
	case path == "/api/v1":
		answer = metav1.APIResourceList{GroupVersion: "v1"}
	case strings.HasSuffix(path, "/pods"), strings.HasSuffix(path, "/persistentvolumes"), path == "/api/v1/nodes":
		answer = metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1"}}
	case path == "/api/v1/namespaces/kube-system/configmaps/bulkhead-hosts":
		answer = corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1"}, Data: map[string]string{"cp-1": enforcingHost}}
	default:
		answer, code = status(http.StatusNotFound, "not found"), http.StatusNotFound
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func status(code int32, message string) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReason(strings.ReplaceAll(http.StatusText(int(code)), " ", "")), Code: code, Message: message}
}
