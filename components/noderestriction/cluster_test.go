// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// fakeCluster implements Cluster with maps. The key is the name or namespace/name. An object that
// is not in a map is not found.
type fakeCluster struct {
	nodes           map[string]*corev1.Node
	pods            map[string]*corev1.Pod
	namespaces      map[string]*corev1.Namespace
	serviceAccounts map[string]*corev1.ServiceAccount
	claims          map[string]*corev1.PersistentVolumeClaim
	volumes         map[string]*corev1.PersistentVolume
	drivers         map[string]*storagev1.CSIDriver
	boundTo         map[types.UID]string
	counts          map[counted]int
	// signing counts requests only if the test has created the map.
	signing map[askedOf]int
	// addresses maps an address to the name of its node.
	addresses map[string]string
	// services maps a cluster IP to its Service. apiServer has the addresses of the API server.
	services  map[string]string
	apiServer []string
	// pools maps a driver and a pool to a user.
	pools     map[string]string
	histories map[string]NodeHistory
	reported  map[string]Reported
	joined    map[string]time.Time
	joinedErr error
	// claimErr and poolErr, if set, are returned for claims and pools.
	claimErr, poolErr error
	// err, if set, is returned by every method.
	err error
}

// askedOf identifies the requests of one node for one group of signers.
type askedOf struct {
	node string
	of   Signers
}

// counted identifies the objects of one kind of one node.
type counted struct {
	what Counted
	node string
}

func find[T any](c *fakeCluster, objects map[string]*T, group, resource, key string) (*T, error) {
	if c.err != nil {
		return nil, c.err
	}
	if found := objects[key]; found != nil {
		return found, nil
	}
	name := key[strings.LastIndexByte(key, '/')+1:]
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
}

func (c *fakeCluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	return find(c, c.nodes, "", "nodes", name)
}

func (c *fakeCluster) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return find(c, c.pods, "", "pods", namespace+"/"+name)
}

func (c *fakeCluster) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return find(c, c.namespaces, "", "namespaces", name)
}

func (c *fakeCluster) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return find(c, c.serviceAccounts, "", "serviceaccounts", namespace+"/"+name)
}

func (c *fakeCluster) PersistentVolumeClaim(_ context.Context, namespace, name string) (*corev1.PersistentVolumeClaim,
	error) {
	if c.claimErr != nil {
		return nil, c.claimErr
	}
	return find(c, c.claims, "", "persistentvolumeclaims", namespace+"/"+name)
}

func (c *fakeCluster) PersistentVolume(_ context.Context, name string) (*corev1.PersistentVolume, error) {
	return find(c, c.volumes, "", "persistentvolumes", name)
}

func (c *fakeCluster) CSIDriver(_ context.Context, name string) (*storagev1.CSIDriver, error) {
	return find(c, c.drivers, "storage.k8s.io", "csidrivers", name)
}

func (c *fakeCluster) BoundTo(_ context.Context, namespace, name string, uid types.UID) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	if node, known := c.boundTo[uid]; known {
		return node, nil
	}
	if pod := c.pods[namespace+"/"+name]; pod != nil && pod.UID == uid {
		return pod.Spec.NodeName, nil
	}
	return "", apierrors.NewNotFound(corev1.Resource("pods"), name)
}

// PodsOn returns the pods in random order.
func (c *fakeCluster) PodsOn(_ context.Context, node string) (pods []*corev1.Pod, err error) {
	for _, pod := range c.pods {
		if pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	return pods, c.err
}

func (c *fakeCluster) PoolUser(_ context.Context, driver, pool, but string) (string, error) {
	if err := errors.Join(c.err, c.poolErr); err != nil {
		return "", err
	}
	if user := c.pools[driver+" "+pool]; user != but {
		return user, nil
	}
	return "", nil
}

func (c *fakeCluster) Count(_ context.Context, what Counted, node string, limit int) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	return min(c.counts[counted{what, node}], limit), nil
}

// SigningRequests never fails, because the real one uses an existing count.
func (c *fakeCluster) SigningRequests(node string, of Signers, limit int, adds bool) int {
	key := askedOf{node, of}
	n := min(c.signing[key], limit)
	if adds && n < limit && c.signing != nil {
		c.signing[key]++
	}
	return n
}

func (c *fakeCluster) AddressOwner(_ context.Context, address, but string) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	if owner := c.addresses[address]; owner != but {
		return owner, nil
	}
	return "", nil
}

func (c *fakeCluster) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	for name, node := range c.nodes {
		if name != but && node.Spec.ProviderID == id {
			return name, nil
		}
	}
	return "", nil
}

func (c *fakeCluster) ServiceWith(_ context.Context, ip string) (string, error) {
	return c.services[ip], c.err
}

func (c *fakeCluster) APIServer(context.Context) ([]string, error) { return c.apiServer, c.err }

func (c *fakeCluster) History(_ context.Context, node string) (NodeHistory, error) {
	if c.err != nil {
		return NodeHistory{}, c.err
	}
	return c.histories[node], nil
}

func (c *fakeCluster) LastJoined(_ context.Context, node string) (time.Time, error) {
	return c.joined[node], errors.Join(c.err, c.joinedErr)
}

func (c *fakeCluster) LastReported(_ context.Context, node string) (Reported, error) {
	if c.err != nil {
		return Reported{}, c.err
	}
	return c.reported[node], nil
}
