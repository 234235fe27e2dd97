// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"net/http"
	"slices"
)

// kubeletPaths are read at the port of a kubelet.
var kubeletPaths = []string{
	"/", "/healthz", "/pods", "/runningpods/", "/allocatedPods", "/metrics", "/metrics/cadvisor", "/metrics/probes",
	"/metrics/resource",
	"/stats/summary", "/configz", "/flagz", "/statusz", "/logs/", "/debug/pprof/", "/debug/pprof/cmdline",
	"/debug/flags/v",
}

// noContainer is the end of a path to a container that does not exist. A kubelet answers 404 to a
// caller who may run something there, and runs nothing.
const noContainer = "/default/e2e-none/none"

// kubeletCommands are paths that would act on a container if it existed.
var kubeletCommands = []string{"/exec", "/attach", "/run", "/portForward", "/checkpoint"}

// harmless are the paths where methods other than GET are tried. A kubelet only reads there,
// whatever the method is.
var harmless = []string{"/healthz", "/pods", "/metrics"}

// kubeletVerbs are the verbs of the methods at a kubelet's port.
var kubeletVerbs = map[string]string{
	"get": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete,
}

// kubeletCall is one request to a kubelet, at its port or through the API server.
type kubeletCall struct{ verb, path string }

func kubeletCalls(log string) []kubeletCall {
	var all []kubeletCall
	for _, path := range kubeletPaths {
		all = append(all, kubeletCall{"get", path})
	}
	for _, path := range harmless {
		for _, verb := range []string{"create", "delete", "patch", "update"} {
			all = append(all, kubeletCall{verb, path})
		}
	}
	for _, path := range kubeletCommands {
		all = append(all, kubeletCall{"get", path + noContainer}, kubeletCall{"create", path + noContainer})
	}
	if log != "" {
		all = append(all, kubeletCall{"get", "/containerLogs/" + log})
	}
	return all
}

// nodesOf returns the nodes and their relations.
func (w world) nodesOf() []object {
	return []object{{Relation: own, Name: w.Own}, {Relation: other, Name: w.Other}}
}

// ofPorts sends requests directly to the ports of both kubelets.
func ofPorts(w world) []attempt {
	var all []attempt
	for _, node := range w.nodesOf() {
		for _, call := range kubeletCalls(w.Logs[node.Name]) {
			a := newAttempt(byPort, call.verb, "kubelet:"+call.path, node.Relation, call.path).about(node.Name)
			a.Method, a.Node = kubeletVerbs[call.verb], node.Name
			all = append(all, a)
		}
	}
	return all
}

// ofProxies sends requests through the API server to pods, services and kubelets.
func ofProxies(r resource, sub subresource, w world) []attempt {
	var all []attempt
	through := func(o object, name, verb, path string) {
		a := newAttempt(byProxy, verb, r.Resource+"/proxy", o.Relation,
			r.path(o.Namespace, name, sub.Name)+path).about(o.String() + path)
		all = append(all, a)
	}
	for _, o := range w.firsts(r) {
		for _, call := range w.proxiedCalls(r, o) {
			if slices.Contains(sub.Verbs, call.verb) {
				through(o, o.Name, call.verb, call.path)
			}
		}
		// Another name for the same kubelet.
		through(o, "https:"+o.Name+":10250", "get", "/healthz")
	}
	return all
}

// proxiedCalls returns the requests that go through the proxy: kubelet requests for a node, and a
// request that every server answers for other objects.
func (w world) proxiedCalls(r resource, o object) []kubeletCall {
	if r.String() == "nodes" {
		return kubeletCalls(w.Logs[o.Name])
	}
	var all []kubeletCall
	for _, verb := range []string{"create", "delete", "get", "patch", "update"} {
		all = append(all, kubeletCall{verb, harmless[0]})
	}
	return all
}
