// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
)

const name = "bulkhead-scope-sync"

// start sets up logging, which a process can do only once, and calls run.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
	}
	return run(ctx, c)
}

// run runs until ctx is done.
func run(ctx context.Context, c *config) error {
	client, err := kubeclient.New(c.kubeconfig, name)
	if err != nil {
		return err
	}
	clientset, err := client.Kubernetes()
	if err != nil {
		return err
	}
	metadata, err := client.Metadata()
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})

	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { client.Run(ctx) })
	scopesync.New(scopesync.Config{
		Client:   clientset,
		Metadata: metadata,
		Events:   broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: name, Host: c.nodeName}),
		Watch: func(index *scopeindex.Annotations) scopesync.View {
			return graphsync.NewAnnotated(clientset, index, index, graphsync.Options{})
		},
		Loaded: loaded(clientset),
		Seen: [2]scopesync.Decider{
			{Name: "node-authorizer", Ask: c.authorizer.Ask},
			{Name: "node-restriction", Ask: c.restriction.Ask},
		},
		NodeName:      c.nodeName,
		Authorization: scopesync.NewListFile(c.authorizationFile()),
		Admission:     scopesync.NewListFile(c.admissionFile()),
		Heartbeat:     c.heartbeat,
	}).Run(ctx)
	return nil
}

func loaded(client kubernetes.Interface) func(context.Context) (scopesync.LoadedFiles, error) {
	return func(ctx context.Context) (scopesync.LoadedFiles, error) {
		return scopesync.ReadLoaded(ctx, client.Discovery().RESTClient())
	}
}

func (c *config) authorizationFile() scopesync.ListFileConfig {
	return scopesync.ListFileConfig{Path: c.authorization, Kind: scopelist.Authorization,
		Validate: apiserver.ValidateAuthorization}
}

// admissionFile uses the hash of the whole directory: the API server reports one hash for all
// files in it.
func (c *config) admissionFile() scopesync.ListFileConfig {
	return scopesync.ListFileConfig{
		Path: c.admission, Kind: scopelist.Admission, Validate: apiserver.ValidateRegistration,
		Hash: func() (string, error) { return apiserver.ManifestsHash(filepath.Dir(c.admission)) },
	}
}
