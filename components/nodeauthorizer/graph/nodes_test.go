// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestRegistered(t *testing.T) {
	n1 := nodeNamed("n1")
	pod := podOn("n1", "pod", secretVolume("s"))
	for _, row := range []struct {
		name string
		do   func(*Graph)
		want Relation
	}{
		{"a node that is not known", func(*Graph) {}, Relation{}},
		{"a node with a Node object", func(g *Graph) { g.SetNode(n1) }, Relation{Registered: true}},
		{"one with a pod only", func(g *Graph) { g.SetPod(pod) }, Relation{Related: true}},
		{"one with both", func(g *Graph) { g.SetNode(n1); g.SetPod(pod) }, Relation{Related: true, Registered: true}},
		{"deleted Node object, pod left", func(g *Graph) { g.SetNode(n1); g.SetPod(pod); g.DeleteNode("n1") },
			Relation{Related: true}},
		{"updated and deleted Node object", func(g *Graph) { g.SetNode(n1); g.SetNode(n1); g.DeleteNode("n1") },
			Relation{}},
		{"Node object deleted twice", func(g *Graph) { g.SetPod(pod); g.SetNode(n1); g.DeleteNode("n1"); g.DeleteNode("n1") },
			Relation{Related: true}},
		{"deleted pod, Node object left", func(g *Graph) { g.SetPod(pod); g.SetNode(n1); g.DeletePod("ns", "pod") },
			Relation{Registered: true}},
		{"listed Node", func(g *Graph) { replaceNodes(g, n1, nodeNamed("n2")) },
			Relation{Registered: true}},
		{"one that is not listed", func(g *Graph) { g.SetNode(n1); replaceNodes(g, nodeNamed("n2")) },
			Relation{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := New(Options{})
			row.do(g)
			got := g.Relation("n1", Secret, "ns", "s")
			if diff := gocmp.Diff(row.want, got); diff != "" {
				t.Errorf("Relation (-want +got):\n%s", diff)
			}
			if registered := g.Registered("n1"); registered != row.want.Registered {
				t.Errorf("Registered = %v, want %v", registered, row.want.Registered)
			}
			// For kinds that cannot be queried, Relation returns only Registered.
			for _, kind := range []Kind{claimRecord, 255} {
				if got := g.Relation("n1", kind, "ns", "s"); got != (Relation{Registered: row.want.Registered}) {
					t.Errorf("Relation to kind %d = %+v", kind, got)
				}
			}
		})
	}
}

func TestSigningRequests(t *testing.T) {
	g := New(Options{})
	for name, user := range map[string]string{
		"own": "system:node:n1", "others": "system:node:n2", "nobodys": "system:node:",
		"admins": "kubernetes-admin", "bare": "n1", "bootstrap": "system:bootstrap:n1", "before": "x:system:node:n1",
	} {
		g.SetCertificateSigningRequest(signingBy(user, name))
	}
	for name, want := range map[string]bool{
		"own": true, "others": false, "nobodys": false, "admins": false, "bare": false, "bootstrap": false, "before": false,
		"none": false,
	} {
		if got := g.Reaches("n1", CertificateSigningRequest, "", name); got != want {
			t.Errorf("request %q reaches the node: %v, want %v", name, got, want)
		}
	}
	if g.Reaches("", CertificateSigningRequest, "", "nobodys") {
		t.Error("the request of a node without a name reaches it")
	}
	g.DeleteCertificateSigningRequest("own")
	replace(g, CertificateSigningRequest, g.SetCertificateSigningRequest, signingBy("system:node:n1", "listed"))
	for name, want := range map[string]bool{"own": false, "listed": true} {
		if got := g.Reaches("n1", CertificateSigningRequest, "", name); got != want {
			t.Errorf("request %q reaches the node afterwards: %v, want %v", name, got, want)
		}
	}
	if g.Reaches("n2", CertificateSigningRequest, "", "others") {
		t.Error("a request that is not listed reaches its node")
	}
}
