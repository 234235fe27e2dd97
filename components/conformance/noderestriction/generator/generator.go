// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// Cluster contains all objects except the one that is written.
type Cluster struct {
	Nodes    []*corev1.Node
	Pods     []*corev1.Pod
	Accounts []*corev1.ServiceAccount
	Claims   []*corev1.PersistentVolumeClaim
	Volumes  []*corev1.PersistentVolume
	Drivers  []*storagev1.CSIDriver
	// Grants determines the answers of the authorizer, which are otherwise arbitrary.
	Grants uint64
	// APIAudiences are the API server's audiences.
	APIAudiences []string
}

// The pools are small, so that names often collide.
var (
	nodeNames    = []string{"n1", "n2", "n3"}
	namespaces   = []string{"ns1", "ns2", "kube-system"}
	podNames     = []string{"a", "b", "c", "d"}
	accountNames = []string{"default", "sa1", "sa2"}
	claimNames   = []string{"c1", "c2", "a-v0", "a-v1", "b-v0", "b-v1"}
	volumeNames  = []string{"pv1", "pv2", "pv3", "pv4"}
	audiences    = []string{"a1", "a2", "vault", "api"}
	signers      = []string{"example.com/s1", "example.com/s2", "k.io/x/y"}
	driverNames  = []string{
		"d1",
		"d2",
		"ebs.csi.aws.com",
		"disk.csi.azure.com",
		"file.csi.azure.com",
		"pd.csi.storage.gke.io",
		"cinder.csi.openstack.org",
		"csi.vsphere.vmware.com",
		"pxd.portworx.com",
	}
	apiAudiences   = [][]string{nil, {"api"}, {"api", "a2"}}
	uidGenerations = []string{"-1", "-1", "-1", "-2"}
)

// Generator creates one random cluster and writes to it.
type Generator struct {
	harness.RNG
	Cluster *Cluster
}

// New creates a random cluster.
func New(rng harness.RNG) *Generator {
	m := &Generator{rng, &Cluster{}}
	w := m.Cluster
	for _, name := range nodeNames {
		if !m.OneIn(5) {
			w.Nodes = append(w.Nodes, m.node(name))
		}
	}
	m.makeStorage()
	for _, namespace := range namespaces {
		for _, name := range accountNames {
			if !m.OneIn(6) {
				w.Accounts = append(w.Accounts, &corev1.ServiceAccount{ObjectMeta: m.meta(namespace, name)})
			}
		}
		for _, name := range podNames {
			if !m.OneIn(6) {
				w.Pods = append(w.Pods, m.pod(namespace, name))
			}
		}
	}
	w.Grants = uint64(m.IntN(1 << 16)) //nolint:gosec // it is small and not negative
	w.APIAudiences = harness.Pick(m.RNG, apiAudiences)
	return m
}

func (m *Generator) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: m.uid(name), ResourceVersion: "1"}
}

// uid returns a UID for an object with this name. It is usually the same one.
func (m *Generator) uid(name string) types.UID {
	return types.UID(name + harness.Pick(m.RNG, uidGenerations))
}

// may returns a pointer to true or false, or nil.
func (m *Generator) may() *bool {
	switch m.IntN(3) {
	case 0:
		return nil
	case 1:
		return new(bool)
	default:
		yes := true
		return &yes
	}
}
