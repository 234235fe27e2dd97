// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name    string
		route   route
		what    string
		code    int
		message string
		want    verdict
	}{
		{"what was read", byAPI, "pods", 200, "", succeeded},
		{"what would have been made", byAPI, "pods", 201, "", succeeded},
		{"a redirect of a kubelet", byPort, "kubelet:/logs", 301, "", succeeded},
		{"a stream without an upgrade", byAPI, "pods/exec", 400, "Upgrade request required", succeeded},
		{"a stream to a pod without a node", byAPI, "pods/attach", 500, "pod x does not have a host assigned", passed},
		{"what is not valid", byAPI, "pods", 422, "", passed},
		{"what has changed", byAPI, "pods", 409, "", passed},
		{"what is badly put", byAPI, "pods", 400, "", passed},
		{"nobody", byAPI, "pods", 401, "", refused},
		{"a caller without the right", byAPI, "pods", 403, "[NA-POD-1]", refused},
		{"request above the rate limit of Bulkhead", byAPI, "pods", 403, "busy [NA-LIMIT]", undecided},
		{"Bulkhead has not synced yet", byAPI, "pods", 403, "[NS-UNREADY]", undecided},
		{"what does not exist", byAPI, "pods", 404, "", missing},
		{"what cannot be done there", byAPI, "pods", 405, "", missing},
		{"a path that is not there", byPath, "/configz", 404, "", missing},
		{"too much at once", byAPI, "pods", 429, "", undecided},
		{"a fault", byAPI, "pods", 500, "", undecided},
		{"no answer", byAPI, "pods", 0, "EOF", undecided},
		{"a container that does not exist", byPort, "kubelet:/run", 404, "", passed},
		{"a method that a kubelet does not have", byPort, "kubelet:/pods", 405, "", passed},
		{"a path that the proxy does not like", byPort, "kubelet:/", 400, "no [KA-PATH-1]", refused},
		{"no request reached the API server", byPort, "kubelet:/", 500, "[KA-DECISION-1]", undecided},
		{"a container behind the API server", byProxy, "nodes/proxy", 404, "", passed},
		{"no server behind the API server", byProxy, "pods/proxy", 503, "error trying to reach service: dial tcp", passed},
		{"a fault behind the API server", byProxy, "pods/proxy", 503, "", undecided},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := judge(attempt{Route: tc.route, Resource: tc.what}, tc.code, tc.message); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestRelationOf(t *testing.T) {
	onBoth := []fixtures.PodTweak{fixtures.WithSecret("shared"), fixtures.As("agent")}
	pods := []corev1.Pod{
		*fixtures.Pod("ns", "a", "n1", append(onBoth, fixtures.WithConfigMap("config"), fixtures.WithClaim("data"))...),
		*fixtures.Pod("ns", "b", "n2", append(onBoth, fixtures.WithSecretInEnv("env"), fixtures.WithPullSecret("pull"))...),
		*fixtures.Pod("ns", "c", "", fixtures.WithSecret("waiting")),
	}
	b := belongingsOf("n1", "n2", pods, []corev1.PersistentVolumeClaim{*fixtures.Claim("ns", "data", "volume")})
	for _, tc := range []struct {
		name string
		of   schema.GroupVersionResource
		what object
		want relation
	}{
		{"the Node", api.Nodes, asObject("", fixtures.Node("n1")), own},
		{"the other Node", api.Nodes, asObject("", fixtures.Node("n2")), other},
		{"another Node", api.Nodes, asObject("", fixtures.Node("n3")), unrelated},
		{"a pod on it", api.Pods, asObject("", &pods[0]), own},
		{"a pod on the other", api.Pods, asObject("", &pods[1]), other},
		{"a pod on none", api.Pods, asObject("", &pods[2]), unrelated},
		{"its lease", api.Leases, asObject("", fixtures.Lease(fixtures.LeaseNamespace, "n1")), own},
		{"a lease of its name elsewhere", api.Leases, asObject("", fixtures.Lease("ns", "n1")), unrelated},
		{"a slice of the other", api.ResourceSlices, asObject("", fixtures.ResourceSlice("s", "n2")), other},
		{"an attachment to it", api.VolumeAttachments, asObject("", fixtures.VolumeAttachment("a", "v", "n1")), own},
		{"a secret that both use", api.Secrets, asObject("", fixtures.Secret("ns", "shared")), own},
		{"a secret in an environment", api.Secrets, asObject("", fixtures.Secret("ns", "env")), other},
		{"a secret to pull with", api.Secrets, asObject("", fixtures.Secret("ns", "pull")), other},
		{"a secret of a pod that is nowhere", api.Secrets, asObject("", fixtures.Secret("ns", "waiting")), unrelated},
		{"a secret of that name elsewhere", api.Secrets, asObject("", fixtures.Secret("elsewhere", "shared")), unrelated},
		{"a config map", api.ConfigMaps, asObject("", fixtures.ConfigMap("ns", "config")), own},
		{"a claim", api.PersistentVolumeClaims, asObject("", fixtures.Claim("ns", "data", "volume")), own},
		{"its volume", api.PersistentVolumes, asObject("", fixtures.Volume("volume", "ns", "data", "x")), own},
		{"an account", api.ServiceAccounts, asObject("", fixtures.ServiceAccount("ns", "agent")), own},
		{"an event of it", api.Events, asObject("", fixtures.EventAbout(&pods[1], "e", "n1")), own},
		{"an event of the other", api.NewEvents, asObject("", fixtures.NewEventAbout(&pods[0], "e", "n2")), other},
		{"what no node has", api.Deployments, object{Body: map[string]any{"metadata": map[string]any{"name": "n1"}}},
			unrelated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := b.relationOf(tc.of.GroupResource(), tc.what.Body); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestReviewedListIsComplete(t *testing.T) {
	for _, e := range reviewed {
		if e.why == "" || e.who == "" || e.verbs == "" || e.resources == "" || len(e.to) == 0 {
			t.Errorf("an entry lacks a field: %s", e)
		}
		if e.isOutside() && e.neededBy == "" {
			t.Errorf("an entry reaches beyond the node and does not name who needs it: %s", e)
		}
		if e.on == InTree {
			t.Errorf("in-tree is not compared with the list: %s", e)
		}
	}
}

func TestReport(t *testing.T) {
	kubelet, broken := &credential{Name: kubeletName, Control: 201}, &credential{Name: "kube-system/gone", Control: 401}
	list := []entry{
		{who: kubeletName, verbs: "get list", resources: "services", to: unrelatedOnly, why: "w"},
		{who: kubeletName, verbs: "get", resources: "secrets", to: itsOwn, why: "w"},
		{who: kubeletName, verbs: "get", resources: "endpoints", to: unrelatedOnly, on: Parity, why: "w"},
		{who: "kube-system/*", verbs: "get", resources: "nodes", to: everything, why: "w"},
	}
	answers := []answer{
		{kubelet, attempt{Verb: "list", Resource: "services", Relation: unrelated}, 200, "", succeeded},
		{kubelet, attempt{Verb: "list", Resource: "services", Relation: unrelated}, 200, "", succeeded},
		{kubelet, attempt{Verb: "get", Resource: "secrets", Relation: other}, 200, "", succeeded},
		{kubelet, attempt{Verb: "update", Resource: "nodes", Relation: other}, 409, "", passed},
		{kubelet, attempt{Verb: "get", Resource: "pods", Relation: other}, 403, "", refused},
		{kubelet, attempt{Verb: "get", Resource: "/version", Relation: none}, 404, "", missing},
		{broken, attempt{Verb: "get", Resource: "nodes", Relation: other}, 401, "", refused},
	}
	r := newReport(setting{profile: Hardened}, []*credential{kubelet, broken}, answers, nil, list, true)
	if len(r.Unexplained) != 2 || r.Unexplained[0].Resource != "secrets" || r.Unexplained[1].Verdict != passed {
		t.Errorf("unexplained: %v", r.unexplained())
	}
	// Unused lists neither the entry for parity nor the entry for a credential that the API server
	// does not accept.
	if len(r.Unused) != 1 || r.Unused[0].resources != "secrets" {
		t.Errorf("unused: %v", r.unused())
	}
	if r.All.Made != 7 || r.All.Outside != 3 || r.rights() != 2 || r.of(kubeletName).Verdicts[refused] != 1 {
		t.Errorf("counted: %+v, %d rights", r.All, r.rights())
	}
	counted := newReport(setting{profile: InTree}, []*credential{kubelet}, answers[:3], nil, list, false)
	if len(counted.Unexplained)+len(counted.Unused) != 0 || counted.All.Outside != 3 {
		t.Errorf("in-tree is only counted: %+v", counted)
	}
	if err := r.write(t.TempDir(), 0); err != nil {
		t.Error(err)
	}
}
