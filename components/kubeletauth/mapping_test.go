// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// verbs are the verbs in the kubelet's mapping, by method. They are written by hand.
// components/conformance compares them with the kubelet's own code.
var verbs = map[string]string{
	"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
	"HEAD": "", "OPTIONS": "", "get": "", "Post": "", "PROPFIND": "", "PRI": "", "*": "",
}

// endpointRow is the expected mapping of an endpoint. "VERB" stands for the verb of the method.
// Several rights are in order, and one of them is enough.
type endpointRow struct {
	paths []string
	// compat and compatRule apply to every method.
	compatRule, compat string
	// In strict, read applies to GET and HEAD, other to every other method, and upgrade to an
	// upgrade with any method.
	strictRule, read, other, upgradeRule, upgrade string
}

var endpointRows = []endpointRow{
	{
		[]string{"/pods", "/pods/", "/pods/a", "/runningpods", "/runningpods/", "/runningpods/a/b"},
		"KA-POD-1", "VERB pods, VERB proxy",
		"KA-POD-1", "get pods, get proxy", "VERB pods", "KA-UPGRADE-1", "create pods",
	},
	{
		[]string{"/allocatedPods", "/allocatedPods/", "/allocatedPods/ns/pod", "/allocatedPods/ns/pod/uid"},
		"KA-POD-1", "VERB pods, VERB proxy",
		"KA-POD-1", "get pods", "VERB pods", "KA-UPGRADE-1", "create pods",
	},
	{
		[]string{"/healthz", "/healthz/", "/healthz/log", "/healthz/ping", "/healthz/syncloop"},
		"KA-HEALTH-1", "VERB healthz, VERB proxy",
		"KA-HEALTH-1", "get healthz, get proxy", "VERB healthz", "KA-UPGRADE-1", "create healthz",
	},
	{
		[]string{"/configz", "/configz/"},
		"KA-CONFIG-1", "VERB configz, VERB proxy",
		"KA-CONFIG-1", "get configz, get proxy", "VERB configz", "KA-UPGRADE-1", "create configz",
	},
	{
		[]string{"/flagz", "/flagz/"},
		"KA-CONFIG-1", "VERB configz",
		"KA-CONFIG-1", "get configz", "VERB configz", "KA-UPGRADE-1", "create configz",
	},
	{
		[]string{"/statusz", "/statusz/"},
		"KA-STATUS-1", "VERB statusz",
		"KA-STATUS-1", "get statusz", "VERB statusz", "KA-UPGRADE-1", "create statusz",
	},
	{
		[]string{"/stats", "/stats/", "/stats/summary"},
		"KA-STATS-1", "VERB stats",
		"KA-STATS-1", "get stats", "VERB stats", "KA-UPGRADE-1", "create stats",
	},
	{
		[]string{"/metrics", "/metrics/", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis"},
		"KA-METRICS-1", "VERB metrics",
		"KA-METRICS-1", "get metrics", "VERB metrics", "KA-UPGRADE-1", "create metrics",
	},
	{
		[]string{"/logs", "/logs/", "/logs/a", "/logs/pods/ns_pod_uid/container/0.log", "/logs/caf\u00e9", "/logs/100%"},
		"KA-LOG-1", "VERB log",
		"KA-LOG-1", "get log", "VERB log", "KA-UPGRADE-1", "create log",
	},
	{
		[]string{"/checkpoint", "/checkpoint/", "/checkpoint/ns/pod/container"},
		"KA-CHECKPOINT-1", "VERB checkpoint",
		"KA-CHECKPOINT-1", "get checkpoint", "VERB checkpoint", "KA-UPGRADE-1", "create checkpoint",
	},
	processRow("KA-EXEC-1", "create exec", "/exec", "/exec/", "/exec/ns/pod/container", "/exec/ns/pod/uid/container",
		"/exec/ns/pod/container/", "/exec/a"),
	processRow("KA-ATTACH-1", "create attach", "/attach", "/attach/ns/pod/container", "/attach/ns/pod/uid/container"),
	processRow("KA-RUN-1", "create run", "/run", "/run/ns/pod/container", "/run/ns/pod/uid/container"),
	processRow("KA-PORT-1", "create portforward", "/portForward", "/portForward/ns/pod", "/portForward/ns/pod/uid"),
	processRow("KA-UNKNOWN-1", "create unknown", "/", "/a", "/api/v1/pods", "/spec/", "/cri/exec/token", "/podsx",
		"/execs/ns/pod/container", "/metricsx"),
	{
		[]string{"/containerLogs", "/containerLogs/", "/containerLogs/ns/pod/container"},
		"KA-PROXY-1", "VERB proxy",
		"KA-CLOG-1", "get containerlogs", "VERB containerlogs", "KA-UPGRADE-1", "create containerlogs",
	},
	{
		[]string{"/debug", "/debug/", "/debug/pprof/", "/debug/pprof/profile", "/debug/flags/v"},
		"KA-PROXY-1", "VERB proxy",
		"KA-DEBUG-1", "get debug", "VERB debug", "KA-UPGRADE-1", "create debug",
	},
}

func processRow(rule, right string, paths ...string) endpointRow {
	return endpointRow{paths, "KA-PROXY-1", "VERB proxy", rule, right, right, rule, right}
}

// want is the expected mapping of a request.
func (row endpointRow) want(mode Mode, method string, upgrade bool) string {
	verb, rule, rights := verbs[method], row.compatRule, row.compat
	reads := method == "GET" || method == "HEAD"
	if mode == Strict {
		rule, rights = row.strictRule, row.other
		if reads {
			verb, rights = "get", row.read
		}
		if upgrade {
			verb, rule, rights = "create", row.upgradeRule, row.upgrade
		}
	}
	if kubelets, _ := rules.Find(pathRules, rules.ID(rule)); verb == "" && kubelets.ID != "" {
		rule = "KA-METHOD-2"
	}
	return rule + ": " + strings.ReplaceAll(rights, "VERB", verb)
}

func written(m Mapping) string {
	var rights []string
	for _, a := range m.Attempts {
		rights = append(rights, a.Verb+" "+a.Subresource)
	}
	return fmt.Sprintf("%s: %s", m.Rule, strings.Join(rights, ", "))
}

func TestEveryEndpointByEveryMethodInBothModes(t *testing.T) {
	for _, row := range endpointRows {
		for _, path := range row.paths {
			t.Run(path, func(t *testing.T) {
				for method := range verbs {
					for _, mode := range []Mode{Compat, Strict} {
						for _, upgrade := range []bool{false, true} {
							got, refusal := mode.Map(Request{Method: method, Path: path, Upgrade: upgrade})
							if want := row.want(mode, method, upgrade); refusal != nil || written(got) != want {
								t.Errorf("%s %s, %v, upgrade %v: %q, %+v; want %q", method, path, mode, upgrade, written(got), refusal, want)
							}
						}
					}
				}
			})
		}
	}
}

// TestMappingsInFull checks some mappings in full, without the short notation of the table above.
func TestMappingsInFull(t *testing.T) {
	for _, tc := range []struct {
		mode Mode
		r    Request
		want string
	}{
		{Compat, Request{Method: "GET", Path: "/exec/ns/pod/c", Upgrade: true}, "KA-PROXY-1: get proxy"},
		{Strict, Request{Method: "GET", Path: "/exec/ns/pod/c", Upgrade: true}, "KA-EXEC-1: create exec"},
		{Compat, Request{Method: "HEAD", Path: "/metrics"}, "KA-METHOD-2:  metrics"},
		{Strict, Request{Method: "HEAD", Path: "/metrics"}, "KA-METRICS-1: get metrics"},
		{Strict, Request{Method: "OPTIONS", Path: "/metrics"}, "KA-METHOD-2:  metrics"},
		{Strict, Request{Method: "OPTIONS", Path: "/containerLogs/ns/pod/c"}, "KA-CLOG-1:  containerlogs"},
		{Strict, Request{Method: "POST", Path: "/pods"}, "KA-POD-1: create pods"},
		{Compat, Request{Method: "POST", Path: "/pods"}, "KA-POD-1: create pods, create proxy"},
	} {
		if got, refusal := tc.mode.Map(tc.r); refusal != nil || written(got) != tc.want {
			t.Errorf("%v: %+v: %q, %+v; want %q", tc.mode, tc.r, written(got), refusal, tc.want)
		}
	}
}

func TestStreams(t *testing.T) {
	for _, tc := range []struct {
		path    string
		upgrade bool
		want    bool
	}{
		{"/exec/ns/pod/c", false, true},
		{"/attach/ns/pod/c", true, true},
		{"/portForward/ns/pod", false, true},
		{"/run/ns/pod/c", false, true},
		{"/containerLogs/ns/pod/c", false, true},
		{"/pods", false, false},
		{"/pods", true, true},
		{"/metrics/resource", false, false},
		{"/logs/a", false, false},
	} {
		for _, mode := range []Mode{Compat, Strict} {
			got, refusal := mode.Map(Request{Method: "GET", Path: tc.path, Upgrade: tc.upgrade})
			if refusal != nil || got.Streams != tc.want {
				t.Errorf("%s, upgrade %v, %v: streams is %v (%+v), want %v", tc.path, tc.upgrade, mode, got.Streams, refusal,
					tc.want)
			}
		}
	}
}
