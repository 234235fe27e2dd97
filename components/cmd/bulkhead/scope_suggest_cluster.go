// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesuggest"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// cacheSyncTimeout limits the time to list the objects that define which node a request concerns.
const cacheSyncTimeout = time.Minute

// nodesAsTheyAre returns node-authorizer with every rule enforced, over the current objects of the
// cluster. Its informers run until forget is called.
func nodesAsTheyAre(ctx context.Context, progress io.Writer,
	client kubernetes.Interface) (node *nodeauthorizer.Authorizer, forget func(), err error) {
	modes := nodeauthorizer.Modes(rules.Enforce)
	g := graph.New(nodeauthorizer.GraphOptions(modes, false))
	view := graphsync.New(client, g, graphsync.Options{
		Nodes: true, CertificateSigningRequests: true, PersistentVolumeClaims: true, TerminatedPodGrace: -1,
	})
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		view.Run(running)
	}()
	forget = func() {
		stop()
		<-ended
	}
	_, _ = fmt.Fprintln(progress, "reading what nodes may do from the cluster …")
	if err := waitForView(ctx, view); err != nil {
		forget()
		return nil, nil, err
	}
	return nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Strict, Features: nodeauthorizer.DefaultFeatures(), Modes: modes, Relations: g,
		Unready: view.Unready,
	}), forget, nil
}

func waitForView(ctx context.Context, view *graphsync.Sync) error {
	ctx, cancel := context.WithTimeout(ctx, cacheSyncTimeout)
	defer cancel()
	for !view.HasSynced() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot read the cluster within %v: the credentials must allow list and watch on nodes, pods, "+
				"persistentvolumes, persistentvolumeclaims, volumeattachments, resourceslices, certificatesigningrequests and "+
				"podcertificaterequests in every namespace", cacheSyncTimeout)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func readRBAC(ctx context.Context, client kubernetes.Interface) (scopesuggest.Objects, error) {
	var o scopesuggest.Objects
	rbac := client.RbacV1()
	roles, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, fmt.Errorf("cannot list ClusterRoles: %w", err)
	}
	bindings, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, fmt.Errorf("cannot list ClusterRoleBindings: %w", err)
	}
	within, err := rbac.Roles(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, fmt.Errorf("cannot list Roles: %w", err)
	}
	boundWithin, err := rbac.RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, fmt.Errorf("cannot list RoleBindings: %w", err)
	}
	return scopesuggest.Objects{ClusterRoles: roles.Items, ClusterRoleBindings: bindings.Items, Roles: within.Items,
		RoleBindings: boundWithin.Items}, nil
}
