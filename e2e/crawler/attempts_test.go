// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

var allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// discovered returns a part of what a cluster serves, with an example of each form.
func discovered() []resource {
	core := &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: allVerbs},
		{Name: "events", Kind: "Event", Namespaced: true, Verbs: allVerbs},
		{Name: "services", Kind: "Service", Namespaced: true, Verbs: allVerbs},
		{Name: "services/proxy", Kind: "ServiceProxyOptions", Namespaced: true,
			Verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}},
		{Name: "nodes", Kind: "Node", Verbs: allVerbs},
		{Name: "nodes/status", Kind: "Node", Verbs: metav1.Verbs{"get", "patch", "update"}},
		{Name: "nodes/proxy", Kind: "NodeProxyOptions", Verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}},
		{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: allVerbs},
		{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get", "patch", "update"}},
		{Name: "pods/exec", Kind: "PodExecOptions", Namespaced: true, Verbs: metav1.Verbs{"create", "get"}},
		{Name: "pods/attach", Kind: "PodAttachOptions", Namespaced: true, Verbs: metav1.Verbs{"create", "get"}},
		{Name: "pods/portforward", Kind: "PodPortForwardOptions", Namespaced: true, Verbs: metav1.Verbs{"create", "get"}},
		{Name: "pods/proxy", Kind: "PodProxyOptions", Namespaced: true,
			Verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}},
		{Name: "pods/log", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
		{Name: "pods/binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		{Name: "pods/eviction", Group: "policy", Version: "v1", Kind: "Eviction", Namespaced: true,
			Verbs: metav1.Verbs{"create"}},
		{Name: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true, Verbs: allVerbs},
		{Name: "serviceaccounts/token", Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest", Namespaced: true,
			Verbs: metav1.Verbs{"create"}},
	}}
	apps := []metav1.APIResource{
		{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: allVerbs},
		{Name: "deployments/scale", Group: "autoscaling", Version: "v1", Kind: "Scale", Namespaced: true,
			Verbs: metav1.Verbs{"get", "patch", "update"}},
	}
	lists := []*metav1.APIResourceList{
		core,
		{GroupVersion: "apps/v1beta1", APIResources: apps},
		{GroupVersion: "apps/v1", APIResources: apps},
		{GroupVersion: "authentication.k8s.io/v1",
			APIResources: []metav1.APIResource{{Name: "tokenreviews", Kind: "TokenReview", Verbs: metav1.Verbs{"create"}}}},
		{GroupVersion: "coordination.k8s.io/v1",
			APIResources: []metav1.APIResource{{Name: "leases", Kind: "Lease", Namespaced: true, Verbs: allVerbs}}},
		{GroupVersion: "far.example.com/v1",
			APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing", Verbs: allVerbs}}},
	}
	preferred := func(version string) *metav1.APIGroup {
		return &metav1.APIGroup{PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: version}}
	}
	return catalogue([]*metav1.APIGroup{preferred("v1"), preferred("apps/v1")}, lists,
		map[string]bool{"far.example.com": true})
}

// imagined returns a world with objects of each relation.
func imagined() world {
	w := world{
		Own: "n1", Other: "n2", Namespace: "stage", Samples: map[schema.GroupResource][]object{},
		Made: map[schema.GroupResource][]object{},
		Logs: map[string]string{"n1": "stage/ours/pause"},
	}
	for whose, node := range map[relation]string{own: "n1", other: "n2"} {
		pod := asObject(whose, fixtures.Pod("stage", string(whose), node))
		pod.Below = map[string]map[string]any{"status": pod.Body}
		add := func(r schema.GroupVersionResource, o object) {
			w.Samples[r.GroupResource()] = append(w.Samples[r.GroupResource()], o)
		}
		add(api.Pods, pod)
		add(api.Nodes, asObject(whose, fixtures.Node(node)))
		add(api.Secrets, asObject(whose, fixtures.Secret("stage", string(whose))))
		add(api.ServiceAccounts, asObject(whose, fixtures.ServiceAccount("stage", string(whose))))
		token := asTokenRequest(whose, fixtures.TokenRequest(fixtures.Pod("stage", string(whose), node)))
		token.Namespace, token.Name = "stage", string(whose)
		w.Tokens = append(w.Tokens, token)
	}
	w.Samples[api.Secrets.GroupResource()] = append(w.Samples[api.Secrets.GroupResource()],
		asObject(unrelated, fixtures.Secret("stage", "unused")))
	for name, review := range reviews("stage") {
		w.Made[schema.ParseGroupResource(name)] = []object{review}
	}
	return w
}

// TestNoAttemptChangesAnything checks that every write is a dry run. This makes the crawl safe on
// any cluster.
func TestNoAttemptChangesAnything(t *testing.T) {
	all, _ := attempts(discovered(), imagined())
	for _, a := range all {
		readsOnly := a.Method == http.MethodGet || a.Method == http.MethodHead
		if !readsOnly && a.Query.Get(dryRun) != "All" {
			t.Errorf("no dry run: %s", a)
		}
		if a.Resource == "pods/eviction" && !strings.Contains(string(a.Body), `"dryRun":["All"]`) {
			t.Errorf("no dry run in the body: %s", a)
		}
		if a.Verb == "delete" || a.Verb == "deletecollection" {
			if len(a.Body) > 0 {
				t.Errorf("a body outvotes the query of a deletion: %s", a)
			}
		}
		if a.Header.Get("Upgrade") != "" || a.Header.Get("Connection") != "" {
			t.Errorf("asks for a stream: %s", a)
		}
	}
}

// TestNoAttemptRunsAnything covers what a dry run does not protect: commands, streams, and requests
// through a proxy.
func TestNoAttemptRunsAnything(t *testing.T) {
	all, _ := attempts(discovered(), imagined())
	seen := map[route]int{}
	for _, a := range all {
		seen[a.Route]++
		for _, parameter := range []string{"command", "cmd", "input", "output", "stdin", "stdout", "stderr", "tty", "port",
			"ports"} {
			if a.Query.Has(parameter) || a.Query.Has(parameter+"[]") {
				t.Errorf("asks to run something, or to stream: %s", a)
			}
		}
		if a.Route != byPort && a.Route != byProxy {
			continue
		}
		if len(a.Body) > 0 {
			t.Errorf("sends a body to the server behind the API server: %s", a)
		}
		_, behind, found := strings.Cut(a.Path, "/proxy")
		if a.Route == byPort || !found {
			behind = a.Path
		}
		commands := slices.ContainsFunc(kubeletCommands,
			func(command string) bool { return strings.HasPrefix(behind, command+"/") })
		switch {
		case commands && !strings.HasSuffix(behind, noContainer):
			t.Errorf("goes to a container that may exist: %s", a)
		case !commands && a.Method != http.MethodGet && !slices.Contains(harmless, behind):
			t.Errorf("is no GET, to where it may matter: %s", a)
		case strings.Contains(behind, ".."), strings.HasPrefix(behind, "/debug/pprof/profile"),
			strings.HasPrefix(behind, "/debug/pprof/trace"):
			t.Errorf("costs the kubelet too much: %s", a)
		}
	}
	for _, on := range []route{byAPI, byPath, byPort, byProxy, byImpersonation} {
		if seen[on] == 0 {
			t.Errorf("there is no attempt by %s", on)
		}
	}
}

func TestEveryVerbIsTried(t *testing.T) {
	resources := discovered()
	all, not := attempts(resources, imagined())
	tried := map[string]bool{}
	for _, a := range all {
		tried[a.right()] = true
	}
	for _, r := range resources {
		for _, verb := range r.Verbs {
			if writes := methods[verb] != http.MethodGet; tried[verb+" "+r.String()] == (r.Remote && writes) {
				t.Errorf("%s %s: tried %v", verb, r, tried[verb+" "+r.String()])
			}
		}
		for _, sub := range r.Subresources {
			what := r.Resource + "/" + sub.Name
			if r.Group != "" {
				what += "." + r.Group
			}
			for _, verb := range sub.Verbs {
				if !tried[verb+" "+what] {
					t.Errorf("%s %s is not tried", verb, what)
				}
			}
		}
	}
	if len(not) != 1 || not[0].What != "writes of things.far.example.com" || not[0].Count == 0 {
		t.Errorf("not tried: %+v", not)
	}
}

func TestEveryAttemptHasRelation(t *testing.T) {
	all, _ := attempts(discovered(), imagined())
	by := map[relation]int{}
	for _, a := range all {
		by[a.Relation]++
		if !slices.Contains([]relation{own, other, unrelated, none}, a.Relation) || a.Object == "" || a.Method == "" ||
			!strings.HasPrefix(a.Path, "/") {
			t.Errorf("incomplete: %+v", a)
		}
		if a.Relation == none && a.Route != byPath && !strings.Contains(a.Resource, "review") {
			t.Errorf("is about an object: %s", a)
		}
	}
	for _, whose := range []relation{own, other, unrelated, none} {
		if by[whose] == 0 {
			t.Errorf("there is no attempt at what is %s", whose)
		}
	}
}

func TestCatalogue(t *testing.T) {
	all := discovered()
	at := slices.IndexFunc(all, func(r resource) bool { return r.String() == "deployments.apps" })
	if at < 0 || all[at].Version != "v1" || len(all[at].Subresources) != 1 ||
		all[at].Subresources[0].Type.String() != "autoscaling/v1, Kind=Scale" {
		t.Fatalf("deployments: %+v", all)
	}
	if got := all[at].path("ns", "web", "scale"); got != "/apis/apps/v1/namespaces/ns/deployments/web/scale" {
		t.Errorf("path: %s", got)
	}
	if slices.ContainsFunc(all, func(r resource) bool { return strings.Contains(r.Resource, "/") }) {
		t.Error("a subresource is a resource")
	}
}
