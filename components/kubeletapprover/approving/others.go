// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package approving

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bulkhead-k8s/bulkhead/components/internal/clusteraddress"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
)

const (
	byAddress = "address"
	// mostAddresses limits the memory for a Node, because the node itself writes its addresses.
	mostAddresses = 256
)

// others finds out whether an address belongs to something other than the requesting node. Nodes
// are watched, because the API cannot select them by address. So an address that was added a moment
// ago may be missing. Everything else is read live.
type others struct {
	client  kubernetes.Interface
	nodes   cache.Indexer
	serving clusteraddress.Certificate
}

// watchNodes prepares the watch of Nodes. No CSR is decided before it has synced.
func watchNodes(client kubernetes.Interface) (informers.SharedInformerFactory, cache.SharedIndexInformer, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	nodes := factory.Core().V1().Nodes().Informer()
	return factory, nodes, nodes.AddIndexers(cache.Indexers{byAddress: addressesOf})
}

// slim keeps only the name, the resource version and the addresses of a Node.
func slim(object any) (any, error) {
	full, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	thin := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: full.Name, ResourceVersion: full.ResourceVersion}}
	thin.Status.Addresses = full.Status.Addresses[:min(len(full.Status.Addresses), mostAddresses)]
	return thin, nil
}

func addressesOf(object any) ([]string, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return nil, fmt.Errorf("a Node is a %T", object)
	}
	all := []string{nodeaddress.Canonical(node.Name)}
	for _, address := range node.Status.Addresses {
		all = append(all, nodeaddress.Canonical(address.Address))
	}
	return all, nil
}

// NodeWith implements [kubeletcertificate.Others]. If several Nodes have the address, it returns
// the first by name.
func (o *others) NodeWith(_ context.Context, address, but string) (string, error) {
	names, err := o.nodes.IndexKeys(byAddress, address)
	if err != nil {
		return "", err
	}
	first := ""
	for _, name := range names {
		if name != but && (first == "" || name < first) {
			first = name
		}
	}
	return first, nil
}

// ServiceWith implements [kubeletcertificate.Others].
func (o *others) ServiceWith(ctx context.Context, ip string) (string, error) {
	return clusteraddress.Service(ctx, o.client, ip)
}

// APIServer implements [kubeletcertificate.Others].
func (o *others) APIServer(ctx context.Context) ([]string, error) {
	return clusteraddress.APIServer(ctx, o.client, o.serving)
}
