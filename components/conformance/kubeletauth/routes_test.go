// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

const golden = "testdata/routes.golden"

var update = flag.Bool("update", false, "write "+golden+" anew")

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "get"}

// route is a path with a handler in the kubelet. A handler that is not a go-restful route checks
// the method itself, or not at all.
type route struct{ method, template string }

// path returns the template with a value for each parameter.
func (r route) path() string {
	return strings.NewReplacer("{podNamespace}", "ns", "{podID}", "pod", "{uid}", "uid", "{podUID}", "uid",
		"{containerName}", "c",
		"{logpath:*}", "a/b", "{subpath:*}", "heap").
		Replace(r.template)
}

func allRoutes(t *testing.T) []route {
	t.Helper()
	var routes []route
	c := theKubelet().routes(t)
	for _, service := range c.RegisteredWebServices() {
		for _, r := range service.Routes() {
			routes = append(routes, route{r.Method, r.Path})
		}
	}
	for _, path := range c.RegisteredHandlePaths() {
		routes = append(routes, route{"any", path})
	}
	if len(routes) < 30 {
		t.Fatalf("the kubelet has only %d routes: %v", len(routes), routes)
	}
	return routes
}

// newRequest returns a request as net/http passes it to a handler.
func newRequest(method, path string, upgrade string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://node:10250/?output=1&port=80&cmd=a", http.NoBody)
	r.Method, r.URL.Path = method, path
	if upgrade != "" {
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", upgrade)
		r.Header.Set("Sec-Websocket-Version", "13")
		r.Header.Set("Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	}
	return r
}

// TestCompatAttributesMatchTheKubelet sends every method to every route of the kubelet, with and
// without an upgrade, and records the rights that the kubelet asks its authorizer for.
func TestCompatAttributesMatchTheKubelet(t *testing.T) {
	for _, route := range allRoutes(t) {
		for _, method := range methods {
			for _, upgrade := range []string{"", "SPDY/3.1", "websocket"} {
				path := route.path()
				want, answer, err := theKubelet().asked(newRequest(method, path, upgrade), false)
				if err != nil {
					t.Error(err)
				}
				if answer.Code != http.StatusForbidden {
					t.Errorf("%s %s: the kubelet answers %d to who may do nothing", method, path, answer.Code)
				}
				got, refusal := kubeletauth.Compat.Map(
					kubeletauth.Request{Method: method, Path: path, Upgrade: upgrade != ""},
				)
				if refusal != nil || !slices.Equal(got.Attempts, want) {
					t.Errorf(
						"%s %s %s: compat asks for %v (%+v), the kubelet for %v",
						method,
						path,
						upgrade,
						got.Attempts,
						refusal,
						want,
					)
				}
			}
		}
	}
}

// TestRoutes compares the whole table of routes, with the rights in each mode, with a file. So a
// developer must review every route that a new version of the kubelet adds.
func TestRoutes(t *testing.T) {
	var lines []string
	for _, r := range allRoutes(t) {
		lines = append(lines, describe(t, r))
	}
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the kubelet's routes, or what they need, have changed (-%s +now):\n%s", golden, diff)
	}
}

func describe(t *testing.T, r route) string {
	t.Helper()
	method := r.method
	if method == "any" {
		method = "GET"
	}
	line := fmt.Sprintf("%-4s %-54s", r.method, r.template)
	for _, mode := range []kubeletauth.Mode{kubeletauth.Compat, kubeletauth.Strict} {
		line += fmt.Sprintf(" %s: %-45s", mode, needs(t, mode, kubeletauth.Request{Method: method, Path: r.path()}))
	}
	return line + " upgrade: " + needs(
		t,
		kubeletauth.Strict,
		kubeletauth.Request{Method: method, Path: r.path(), Upgrade: true},
	)
}

func needs(t *testing.T, mode kubeletauth.Mode, r kubeletauth.Request) string {
	t.Helper()
	mapping, refusal := mode.Map(r)
	if refusal != nil || mapping.Rule == kubeletauth.RuleUnknown {
		t.Errorf("%+v is a route of the kubelet, and %v maps it to %+v, %+v", r, mode, mapping, refusal)
	}
	var rights []string
	for _, a := range mapping.Attempts {
		rights = append(rights, a.Verb+" "+a.Subresource)
	}
	return strings.Join(rights, " or ") + " [" + string(mapping.Rule) + "]"
}

// TestTargets checks which pod and container the kubelet looks up.
func TestTargets(t *testing.T) {
	seen := map[string]bool{}
	for _, route := range allRoutes(t) {
		if !strings.Contains(route.template, "{podID}") {
			continue
		}
		for _, path := range []string{route.path(), route.path() + "/"} {
			_, answer, err := theKubelet().asked(newRequest(route.method, path, ""), true)
			if err != nil {
				t.Error(err)
			}
			got, _ := kubeletauth.Strict.Map(kubeletauth.Request{Method: route.method, Path: path})
			reached := theKubelet().host.reached
			if reached.what == "" {
				t.Errorf("%s %s reaches no container: %d %s", route.method, path, answer.Code, answer.Body)
			}
			seen[reached.what] = true
			if reached.what == "portForward" { // the kubelet has compared the UID itself
				reached.target.UID = got.Target.UID
			}
			if got.Target != reached.target {
				t.Errorf(
					"%s %s names %+v, and the kubelet looks for %+v",
					route.method,
					path,
					got.Target,
					reached.target,
				)
			}
		}
	}
	for _, what := range []string{"exec", "attach", "run", "portForward", "containerLogs", "checkpoint"} {
		if !seen[what] {
			t.Errorf("nothing reached %s", what)
		}
	}
}
