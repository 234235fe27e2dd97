// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// clusterFlags say which cluster to ask, as kubectl's flags of the same names do.
type clusterFlags struct{ kubeconfig, context string }

// contextFlag is the name of the flag.
const contextFlag = "context"

func (f *clusterFlags) add(fs *pflag.FlagSet) { f.addFor(fs, "Your credentials.") }

// addFor adds the flags. credentials says which ones the command needs.
func (f *clusterFlags) addFor(fs *pflag.FlagSet, credentials string) {
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", credentials+" Without this flag, $KUBECONFIG, ~/.kube/config or "+
		adminKubeconfig+".")
	fs.StringVar(&f.context, contextFlag, "", "The context of the kubeconfig. Without this flag, the current one.")
}

// given is true if a flag names a cluster.
func (f *clusterFlags) given() bool { return f.kubeconfig != "" || f.context != "" }

func (f *clusterFlags) loader() clientcmd.ClientConfig {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, overrides)
}

// config is that of the loader. On a control-plane host without a kubeconfig it is the
// administrator's.
func (f *clusterFlags) config(loader clientcmd.ClientConfig) (*rest.Config, error) {
	config, err := loader.ClientConfig()
	if err != nil && !f.given() {
		config, err = f.anywhereOrAdminConfig()
	}
	if err != nil {
		return nil, err
	}
	cluster.LimitKubelets(config)
	config.QPS = -1 // the number of requests is small, so they need no throttle
	return config, nil
}

// here reads the modes that the cluster has.
func (f *clusterFlags) here(ctx context.Context) (*rulebook.Here, error) {
	config, err := f.config(f.loader())
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the cluster: %w; give --kubeconfig", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the cluster: %w; check the kubeconfig", err)
	}
	return rulebook.ReadHere(ctx, client.CoreV1().ConfigMaps(metav1.NamespaceSystem))
}

// dryRun reads the file of -f and completes the request with it.
func (c *whyCommand) dryRun(in io.Reader, config *rest.Config, r *why.Request) (
	func(context.Context, *why.Request) why.Write, error) {
	data, err := readInput(c.file, in, why.MaxObject>>20)
	if err != nil {
		return nil, fmt.Errorf("cannot read the object in %s: %w", c.file, err)
	}
	object, err := why.ParseObject(data)
	if err != nil {
		return nil, err
	}
	if err := r.Complete(object, c.namespace != ""); err != nil {
		return nil, err
	}
	return why.DryRun(config, object)
}
