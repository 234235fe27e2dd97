// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// view is the graph and everything that keeps it current. The last three fields are nil if node
// scope is off. revoked is nil if no rule needs it.
type view struct {
	client kubernetes.Interface
	graph  *graph.Graph
	sync   *graphsync.Sync

	revoked *revocations

	scopes   *scopeindex.Index
	accounts *graphsync.Sync
	unread   unread
}

func newView(client kubernetes.Interface, c *config) *view {
	graphOptions := nodeauthorizer.GraphOptions(c.extensions.modes, c.extensions.credentialProviders)
	v := &view{client: client, graph: graph.New(graphOptions)}
	options := syncOptions(c)
	if c.scope != nil {
		v.unread = newUnread()
		v.scopes = scopeindex.New(boundPods{v.graph}, v.unread.note)
		v.accounts = graphsync.NewAccounts(client, v.scopes, options)
		options.Scopes = v.scopes
	}
	v.sync = graphsync.New(client, v.graph, options)
	if c.scope != nil || nodeauthorizer.NeedsOf(c.extensions.modes).Revocations {
		v.revoked = newRevocations(client, c.maxViewAge)
	}
	return v
}

// boundPods looks up pods in the graph, for node scope.
type boundPods struct{ graph *graph.Graph }

func (b boundPods) BoundPod(namespace, name string) (nodescope.Pod, bool) {
	pod, known := b.graph.BoundPod(namespace, name)
	return nodescope.Pod{UID: pod.UID, NodeName: pod.Node, RunsAs: pod.RunsAs}, known
}

// revokedSet is the function for the authorizers' field Revoked. It is nil if no rule needs it.
func (v *view) revokedSet() func() *revocationlist.Set {
	if v.revoked == nil {
		return nil
	}
	return v.revoked.set
}

// never is a grace period that does not end.
const never = time.Duration(-1)

// syncOptions watches a resource of an optional rule only if that rule is not off.
func syncOptions(c *config) graphsync.Options {
	needs := nodeauthorizer.NeedsOf(c.extensions.modes)
	grace := never
	if needs.PodEnds {
		grace = c.extensions.grace
	}
	return graphsync.Options{
		MaxAge:                        c.maxViewAge,
		WithoutPodCertificateRequests: !c.features.PodCertificateRequest,
		Nodes:                         needs.Nodes,
		CertificateSigningRequests:    needs.CertificateSigningRequests,
		PersistentVolumeClaims:        needs.PersistentVolumeClaims,
		TerminatedPodGrace:            grace,
	}
}
