// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var classicSubresources = []string{
	SubresourceCheckpoint, SubresourceConfigz, SubresourceHealthz, SubresourceLog, SubresourceMetrics, SubresourcePods,
	SubresourceProxy, SubresourceStats, SubresourceStatusz,
}

var ownSubresources = []string{
	SubresourceAttach, SubresourceContainerLogs, SubresourceDebug, SubresourceExec, SubresourcePortForward, SubresourceRun,
	SubresourceUnknown,
}

// allows reports whether a user with only this right may make the request. A verb or a subresource
// may be "*", as in RBAC. One allowed attempt is enough, so a user with several rights may do
// exactly what the single rights allow.
func (right Attributes) allows(m Mapping) bool {
	return slices.ContainsFunc(m.Attempts, func(a Attributes) bool {
		return (right.Verb == "*" || right.Verb == a.Verb && a.Verb != "") &&
			(right.Subresource == "*" || right.Subresource == a.Subresource)
	})
}

// asMuch returns the compat mappings of all requests that do as much as r: r itself, GET for HEAD,
// and POST for an upgrade.
func asMuch(r Request) []Mapping {
	methods := []string{r.Method}
	if r.Method == http.MethodHead {
		methods = append(methods, http.MethodGet)
	}
	if r.Upgrade {
		methods = append(methods, http.MethodPost)
	}
	var mappings []Mapping
	for _, method := range methods {
		r.Method = method
		mapping, _ := Compat.Map(r)
		mappings = append(mappings, mapping)
	}
	return mappings
}

// execLike reports whether the kubelet could run a process, attach to one, or connect to its ports.
// For an unknown path, a newer kubelet could.
func execLike(r Request) bool {
	first, _ := cutSegment(strings.TrimPrefix(r.Path, "/"))
	return r.Upgrade || slices.Contains([]string{"exec", "attach", "run", "portForward"}, first) ||
		!slices.Contains(firstSegments, first)
}

var anySubresource = slices.Concat(classicSubresources, ownSubresources, []string{"*"})

var allVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "*"}

// checkNeverWeaker checks what [Mode.Map] promises about Strict, for every single right.
func checkNeverWeaker(t *testing.T, r Request, strict Mapping) {
	t.Helper()
	compat, execs := asMuch(r), execLike(r)
	for _, verb := range allVerbs {
		for _, subresource := range anySubresource {
			right := Attributes{Verb: verb, Subresource: subresource}
			if !right.allows(strict) {
				continue
			}
			if execs && (verb != "create" && verb != "*" || subresource == SubresourceProxy) {
				t.Errorf("%+v: %+v allows what can exec", r, right)
			}
			if slices.Contains(classicSubresources, subresource) && !slices.ContainsFunc(compat, right.allows) {
				t.Errorf("%+v: %+v allows it in strict, and in compat neither it nor what does as much", r, right)
			}
		}
	}
}

// checkMapping checks the properties of every mapping.
func checkMapping(t *testing.T, r Request) {
	t.Helper()
	compat, compatDenied := Compat.Map(r)
	strict, strictDenied := Strict.Map(r)
	if compatDenied != strictDenied {
		t.Fatalf("%+v: compat refuses it by %+v, strict by %+v", r, compatDenied, strictDenied)
	}
	if refusal := compatDenied; refusal != nil {
		if id, ok := rules.FromReason(refusal.Reason()); !ok || id != refusal.Rule || refusal.Effect != rules.Deny ||
			refusal.Code/100 != 4 {
			t.Errorf("%+v: refused by %+v", r, refusal)
		}
		return
	}
	if len(compat.Attempts) == 0 || len(strict.Attempts) == 0 || compat.Target != strict.Target ||
		compat.Streams != strict.Streams {
		t.Errorf("%+v: compat maps it to %+v, strict to %+v", r, compat, strict)
	}
	for _, part := range strings.Split(r.Path[1:], "/") {
		if part == "." || part == ".." || strings.ContainsAny(part, "\x00\r\n\\") || !utf8.ValidString(part) {
			t.Errorf("%+v: passes with the segment %q", r, part)
		}
	}
	checkNeverWeaker(t, r, strict)
}

func TestStrictIsNeverWeaker(t *testing.T) {
	for _, row := range endpointRows {
		for _, path := range row.paths {
			for method := range verbs {
				checkMapping(t, Request{Method: method, Path: path})
				checkMapping(t, Request{Method: method, Path: path, Upgrade: true})
			}
		}
	}
}

func FuzzMap(f *testing.F) {
	for _, row := range endpointRows {
		f.Add("GET", row.paths[len(row.paths)-1], "", true)
	}
	f.Add("POST", "/exec/ns/pod/c", "/%65xec/ns/pod/c", false)
	f.Add("HEAD", "/logs/../exec/ns/pod/c", "/logs/%2e%2e/exec/ns/pod/c", false)
	f.Add("OPTIONS", "/logs/a/b", "/logs/a%2fb", false)
	f.Add("CONNECT", "//exec", "", true)
	f.Add("GET", "/containerLogs/ns/../../exec/ns/pod/c", "", false)
	f.Add("PUT", "/debug/flags/../pprof/v", "", true)
	f.Add("GET", "/portForward/\xff/pod", "/portForward/%ff/pod", true)
	f.Fuzz(func(t *testing.T, method, path, rawPath string, upgrade bool) {
		checkMapping(t, Request{Method: method, Path: path, RawPath: rawPath, Upgrade: upgrade})
	})
}
