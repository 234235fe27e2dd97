// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// requests is how many are made up.
const requests = 100_000

// TestAgainstTheKubeletAtRandom sends made-up requests to the kubelet's own server.
// What is not refused before anybody is asked needs in compat exactly what the
// kubelet's mapping says, and in strict verb create on a subresource of its own if the
// kubelet would have run, joined or reached a container for it. It is no fuzz target:
// to instrument all that the kubelet imports takes a quarter of an hour.
func TestAgainstTheKubeletAtRandom(t *testing.T) {
	seed := time.Now().UnixNano()
	if set := os.Getenv("SEED"); set != "" {
		var err error
		if seed, err = strconv.ParseInt(set, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", seed)
	dice := rand.New(rand.NewPCG(uint64(seed), 0))
	passed := 0
	for range requests {
		r := madeUp(dice)
		if _, refusal := kubeletauth.Compat.Map(r); refusal == nil {
			passed++
		}
		if compare(t, r.Method, r); t.Failed() {
			t.Fatalf("run it again with SEED=%d", seed)
		}
	}
	if passed < requests/4 {
		t.Errorf("only %d of %d requests were compared", passed, requests)
	}
}

var (
	verbs    = []string{"GET", "GET", "POST", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get", "CONNECT", "PROPFIND"}
	segments = []string{
		"exec", "attach", "run", "portForward", "containerLogs", "checkpoint", "pods", "allocatedPods", "runningpods", "healthz", "log", "logs",
		"debug", "pprof", "flags", "v", "statusz", "flagz", "configz", "stats", "summary", "metrics", "cadvisor", "ping", "syncloop",
		"ns", "pod", "c", "uid", "Exec", "execs", "a b", "é",
	}
	unclean = []string{"", ".", "..", "%2f", "\x00", "a\\b", "..;", "exec "}
)

func madeUp(dice *rand.Rand) kubeletauth.Request {
	pick := func(from []string) string { return from[dice.IntN(len(from))] }
	var b strings.Builder
	for range 1 + dice.IntN(6) {
		b.WriteByte('/')
		if dice.IntN(40) == 0 {
			b.WriteString(pick(unclean))
		} else {
			b.WriteString(pick(segments))
		}
	}
	if dice.IntN(8) == 0 {
		b.WriteByte('/')
	}
	return kubeletauth.Request{Method: pick(verbs), Path: b.String(), Upgrade: dice.IntN(3) == 0}
}

func compare(t *testing.T, method string, r kubeletauth.Request) {
	t.Helper()
	compat, refusal := kubeletauth.Compat.Map(r)
	strict, _ := kubeletauth.Strict.Map(r)
	if refusal != nil {
		return
	}
	want := theKubelet().mapped(method, r.Path)
	if !slices.Equal(compat.Attempts, want) {
		t.Errorf("%+v: compat asks for %v, the kubelet for %v", r, compat.Attempts, want)
	}
	upgrade := ""
	if r.Upgrade {
		upgrade = "websocket"
	}
	request := newRequest(method, r.Path, upgrade)
	request.URL.RawPath = r.RawPath
	asked, _ := theKubelet().asked(t, request, harmless(r.Path))
	// It stops at the first that is allowed, and does not ask where it has no handler.
	if !slices.Equal(asked, want[:len(asked)]) {
		t.Errorf("%+v: the kubelet maps it to %v, and asks for %v", r, want, asked)
	}
	checkReached(t, r, strict, theKubelet().host.reached)
}

func checkReached(t *testing.T, r kubeletauth.Request, strict kubeletauth.Mapping, reached reached) {
	t.Helper()
	switch reached.what {
	case "":
		return
	case "exec", "attach", "run", "portForward":
		own := []kubeletauth.Attributes{{Verb: "create", Subresource: strings.ToLower(reached.what)}}
		if !slices.Equal(strict.Attempts, own) {
			t.Errorf("%+v: reaches %s, and strict asks for %v", r, reached.what, strict.Attempts)
		}
	}
	if reached.what == "portForward" {
		reached.target.UID = strict.Target.UID
	}
	if reached.what != "logs" && strict.Target != reached.target {
		t.Errorf("%+v: names %+v, and the kubelet looks for %+v", r, strict.Target, reached.target)
	}
}

// harmless: the handler is one of the host above, and not one that measures this
// process or reads what it has no kubelet for.
func harmless(requestPath string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+requestPath), "/"), "/")
	return !slices.Contains([]string{"debug", "metrics", "stats", "configz", "flagz", "statusz"}, first)
}
