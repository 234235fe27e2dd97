// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"fmt"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// TestAgainstKubelet sends random requests to the kubelet's own server. If the mapping does not
// deny a request, compat needs exactly the rights in the kubelet's mapping. Strict needs verb
// create on a separate subresource if the kubelet would have run, attached or forwarded anything.
// It is not a fuzz target, because Go would instrument all packages that the kubelet imports, which
// takes 15 minutes.
func TestAgainstKubelet(t *testing.T) {
	counts, full := harness.Suite{
		Questions: 100_000, PerSeed: 1000, Seed: int(time.Now().UnixNano() >> 20 & (1<<30 - 1)),
		Gates: []harness.Gates{{Name: "defaults", Share: 10}},
		// A process can register the kubelet's metrics only once.
		Workers: 1,
		Worker: func(*testing.T, harness.Gates) func(uint64, harness.Counts) string {
			return func(seed uint64, counts harness.Counts) string { return askAtRandom(harness.Seeded(seed), counts) }
		},
	}.Run(t)
	if full && counts["compared"] < 25_000 {
		t.Errorf("only %d requests were compared", counts["compared"])
	}
}

func askAtRandom(rng harness.RNG, counts harness.Counts) (wrong string) {
	for range 1000 {
		r := randomRequest(rng)
		if _, refusal := kubeletauth.Compat.Map(r); refusal != nil {
			counts["rejected before the kubelet is asked"]++
			asKubelet := kubeletauth.MapAsKubelet(r).Attempts
			if want := theKubelet().mapped(r.Method, r.Path); !slices.Equal(asKubelet, want) {
				return fmt.Sprintf("%+v: mode audit asks for %v, the kubelet for %v", r, asKubelet, want)
			}
			continue
		}
		counts["compared"]++
		if compare(r) != "" {
			r = harness.Shrink(r, simplerRequests, func(r kubeletauth.Request) bool { return compare(r) != "" })
			return compare(r)
		}
	}
	return ""
}

// simplerRequests returns simpler versions: GET, no upgrade, shorter paths.
func simplerRequests(r kubeletauth.Request) iter.Seq[kubeletauth.Request] {
	return func(yield func(kubeletauth.Request) bool) {
		if r.Upgrade && !yield(kubeletauth.Request{Method: r.Method, Path: r.Path}) {
			return
		}
		if r.Method != http.MethodGet &&
			!yield(kubeletauth.Request{Method: http.MethodGet, Path: r.Path, Upgrade: r.Upgrade}) {
			return
		}
		for parts := range harness.WithoutParts(strings.Split(r.Path, "/")[1:]) {
			if !yield(kubeletauth.Request{Method: r.Method, Path: "/" + strings.Join(parts, "/"), Upgrade: r.Upgrade}) {
				return
			}
		}
	}
}

var (
	verbs = []string{
		"GET",
		"GET",
		"POST",
		"POST",
		"PUT",
		"PATCH",
		"DELETE",
		"HEAD",
		"OPTIONS",
		"get",
		"CONNECT",
		"PROPFIND",
	}
	segments = []string{
		"exec",
		"attach",
		"run",
		"portForward",
		"containerLogs",
		"checkpoint",
		"pods",
		"allocatedPods",
		"runningpods",
		"healthz",
		"log",
		"logs",
		"debug",
		"pprof",
		"flags",
		"v",
		"statusz",
		"flagz",
		"configz",
		"stats",
		"summary",
		"metrics",
		"cadvisor",
		"ping",
		"syncloop",
		"ns",
		"pod",
		"c",
		"uid",
		"Exec",
		"execs",
		"a b",
		"é",
	}
	unclean = []string{"", ".", "..", "%2f", "\x00", "a\\b", "..;", "exec "}
)

func randomRequest(rng harness.RNG) kubeletauth.Request {
	var b strings.Builder
	for range 1 + rng.IntN(6) {
		b.WriteByte('/')
		if rng.OneIn(40) {
			b.WriteString(harness.Pick(rng, unclean))
		} else {
			b.WriteString(harness.Pick(rng, segments))
		}
	}
	if rng.OneIn(8) {
		b.WriteByte('/')
	}
	return kubeletauth.Request{Method: harness.Pick(rng, verbs), Path: b.String(), Upgrade: rng.OneIn(3)}
}

// compare returns how the mapping and the kubelet disagree about a request, or "".
func compare(r kubeletauth.Request) (wrong string) {
	compat, refusal := kubeletauth.Compat.Map(r)
	strict, _ := kubeletauth.Strict.Map(r)
	if refusal != nil {
		return ""
	}
	want := theKubelet().mapped(r.Method, r.Path)
	if !slices.Equal(compat.Attempts, want) {
		return fmt.Sprintf("%+v: compat needs %v, the kubelet %v", r, compat.Attempts, want)
	}
	upgrade := ""
	if r.Upgrade {
		upgrade = "websocket"
	}
	request := newRequest(r.Method, r.Path, upgrade)
	request.URL.RawPath = r.RawPath
	asked, _, err := theKubelet().asked(request, harmless(r.Path))
	// The kubelet stops at the first allowed right. It does not ask at all for a path without a
	// handler.
	if err != nil || !slices.Equal(asked, want[:len(asked)]) {
		return fmt.Sprintf("%+v: the kubelet maps it to %v, and asks for %v (%v)", r, want, asked, err)
	}
	return compareReached(r, strict, theKubelet().host.reached)
}

func compareReached(r kubeletauth.Request, strict kubeletauth.Mapping, reached reached) (wrong string) {
	switch reached.what {
	case "":
		return ""
	case "exec", "attach", "run", "portForward":
		own := []kubeletauth.Attributes{{Verb: "create", Subresource: strings.ToLower(reached.what)}}
		if !slices.Equal(strict.Attempts, own) {
			return fmt.Sprintf("%+v: reaches %s, and strict needs %v", r, reached.what, strict.Attempts)
		}
	}
	if reached.what == "portForward" {
		reached.target.UID = strict.Target.UID
	}
	if reached.what != "logs" && strict.Target != reached.target {
		return fmt.Sprintf("%+v: names %+v, and the kubelet looks for %+v", r, strict.Target, reached.target)
	}
	return ""
}

// harmless reports whether the handler is one of the host above. Other handlers measure this
// process, or read files that do not exist here.
func harmless(requestPath string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+requestPath), "/"), "/")
	return !slices.Contains([]string{"debug", "metrics", "stats", "configz", "flagz", "statusz"}, first)
}
