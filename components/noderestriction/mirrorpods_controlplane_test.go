// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const etcdAddress = "kubeadm.kubernetes.io/etcd.advertise-client-urls"

// etcdMirror is the creation of a mirror pod that kubeadm takes for a member of etcd.
func etcdMirror(tier string, edits ...func(*corev1.Pod)) admission.Attributes {
	return mirror(map[string]string{"component": "etcd", "tier": tier}, edits...)
}

// roleOf is a cluster in which the Node me has these labels.
func roleOf(labels map[string]string) *fakeCluster {
	c := listing("component,tier")
	node := c.nodes["me"].DeepCopy()
	node.Labels = labels
	c.nodes["me"] = node
	return c
}

func TestMirrorPodsOfTheControlPlane(t *testing.T) {
	const (
		byLabel = aboutMirror + "can only create mirror pods with the label tier=control-plane if its Node has the label " +
			"node-role.kubernetes.io/control-plane [NR-MIRROR-6]"
		byAnnotation = aboutMirror + "can only create mirror pods with an annotation under kubeadm.kubernetes.io/ if its " +
			"Node has the label node-role.kubernetes.io/control-plane [NR-MIRROR-6]"
	)
	policy := gated(func(p *configuration.MirrorPods) { p.AllowedAnnotations = configuration.NewKeys(etcdAddress) })
	run(t, restrict(roleOf(map[string]string{"node-role.kubernetes.io/control-plane": ""}), policy), []row{
		{name: "label, control-plane node: admitted", write: etcdMirror("control-plane")},
		{name: "annotation, control-plane node: admitted", write: mirror(nil, with(etcdAddress))},
	})
	worker := []row{
		{name: "label, worker: denied", write: etcdMirror("control-plane"), by: "NR-MIRROR-6", says: byLabel},
		{name: "another tier, worker: admitted", write: etcdMirror("node")},
		{name: "annotation, worker: denied", write: mirror(nil, with(etcdAddress)), by: "NR-MIRROR-6", says: byAnnotation},
		{name: "label and annotation, worker: denied", write: etcdMirror("control-plane", with(etcdAddress)),
			by: "NR-MIRROR-6", says: byLabel},
	}
	run(t, restrict(roleOf(nil), policy), worker)
	run(t, restrict(roleOf(map[string]string{"node-role.kubernetes.io/worker": ""}), policy), worker)
}

// onceLookedUp is a cluster in which only the first lookup of a Node succeeds: that of NR-POD-2.
type onceLookedUp struct {
	*fakeCluster
	lookups *int
}

func (c onceLookedUp) Node(ctx context.Context, name string) (*corev1.Node, error) {
	if *c.lookups++; *c.lookups > 1 {
		return nil, apierrors.NewInternalError(errors.New("no answer"))
	}
	return c.fakeCluster.Node(ctx, name)
}

// Without the Node, what kubeadm would trust is denied. Another pod needs no lookup.
func TestMirrorPodsOfTheControlPlaneWithoutTheNode(t *testing.T) {
	for _, tc := range []struct {
		tier    string
		by      rules.ID
		lookups int
	}{{"control-plane", "NR-MIRROR-6", 2}, {"node", "", 1}} {
		lookups := 0
		r := New(Config{Cluster: onceLookedUp{listing("component,tier"), &lookups}, Features: DefaultFeatures()})
		gated()(&r.config)
		v := r.Review(t.Context(), etcdMirror(tc.tier))
		if v.Rule != tc.by || v.Allowed() != (tc.by == "") || lookups != tc.lookups {
			t.Errorf("tier %s: %+v, %d lookups", tc.tier, v, lookups)
		}
	}
}

func TestMirrorPodsOfTheControlPlaneOnWarn(t *testing.T) {
	v := restrict(roleOf(nil), gated(warnOnly)).Review(t.Context(), etcdMirror("control-plane"))
	if audited := v.Audited(); !v.Allowed() || len(audited) != 1 || audited[0] != rules.ID("NR-MIRROR-6") {
		t.Errorf("warn: %+v", v)
	}
}
