// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

// Scene is what one spec plays on: two nodes without kubelets, a namespace, and
// whatever else it makes. It removes itself after the spec.
type Scene struct {
	*Cluster
	// Own and Other are names of nodes that no other spec uses. The Node objects
	// exist from the first call of Node on.
	Own, Other string

	namespace string
	account   *corev1.ServiceAccount
	nodes     map[string]*corev1.Node
	serial    int
	// changed is when the last object was made that may give a node a right.
	changed time.Time
}

func newScene(c *Cluster) *Scene {
	id := rand.String(6)
	return &Scene{Cluster: c, Own: "e2e-own-" + id, Other: "e2e-other-" + id, nodes: map[string]*corev1.Node{}}
}

// Namespace makes a namespace with a service account for this spec, at the first call.
func (s *Scene) Namespace(ctx context.Context) string {
	if s.namespace != "" {
		return s.namespace
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   "e2e-" + rand.String(8),
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
		// As an administrator would have it who runs static pods there.
		Annotations: map[string]string{fixtures.MirrorAllowed: "true"},
	}}
	s.put(ctx, namespace)
	s.namespace = namespace.Name
	s.account = fixtures.ServiceAccount(s.namespace, fixtures.Account)
	s.put(ctx, s.account)
	return s.namespace
}

// Node makes a Node object without a kubelet behind it, at the first call for
// that name. Nothing is scheduled to it.
func (s *Scene) Node(ctx context.Context, name string) *corev1.Node {
	if node, ok := s.nodes[name]; ok {
		return node
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{FakeNodeLabel: "true"}},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			Taints:        []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}},
		},
	}
	s.put(ctx, node)
	s.nodes[name] = node
	return node
}

// Address is one that no other scene gives to its Node: two Nodes with one address are
// each other's hindrance. It is of the range for tests of networks (RFC 2544).
func (s *Scene) Address() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(s.Own))
	n := sum.Sum32()
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&0xff, n&0xff)
}

// NewName is a name that this scene has not used.
func (s *Scene) NewName(kind string) string {
	s.serial++
	return fmt.Sprintf("%s-%s-%d", kind, s.Own[len("e2e-own-"):], s.serial)
}

// Put creates objects as the administrator and removes them after the spec.
// From then on an allowance may take a moment: see [Suite.ExpectAllowed].
func (s *Scene) Put(ctx context.Context, objects ...k8s.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		s.put(ctx, object)
		s.changed = time.Now()
	}
}

func (s *Scene) put(ctx context.Context, object k8s.Object) {
	ginkgo.GinkgoHelper()
	// Registered before the creation, of which only the answer may be lost. What
	// is in the scene's namespace goes with it.
	if s.namespace == "" || object.GetNamespace() != s.namespace {
		ginkgo.DeferCleanup(s.remove, object)
	}
	if _, ok := object.(*corev1.Namespace); ok {
		s.namespaces = append(s.namespaces, object.GetName())
	}
	gomega.Expect(s.Objects.Create(ctx, object)).To(gomega.Succeed(), "creating %T %s", object, object.GetName())
}

// Remove deletes an object now.
func (s *Scene) Remove(ctx context.Context, object k8s.Object) {
	ginkgo.GinkgoHelper()
	gomega.Expect(s.remove(ctx, object)).To(gomega.Succeed())
}

func (s *Scene) remove(ctx context.Context, object k8s.Object) error {
	if err := s.Objects.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// PutAs creates objects as somebody else; the administrator removes them.
func (s *Scene) PutAs(ctx context.Context, who *Identity, objects ...k8s.Object) {
	ginkgo.GinkgoHelper()
	theirs, err := who.Objects()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, object := range objects {
		ginkgo.DeferCleanup(s.remove, object)
		gomega.Expect(theirs.Create(ctx, object)).To(gomega.Succeed(), "creating %T %s as %s", object, object.GetName(), who)
		s.changed = time.Now()
	}
}

// Pod makes a pod that is bound to a node, and what it takes: the namespace, its
// service account, and the Nodes of this scene that the request of the spec is
// about. One of them is the scene's own, which mostly asks: without a Node object
// it would be refused for that, whichever node the pod is on.
func (s *Scene) Pod(ctx context.Context, node string, tweaks ...fixtures.PodTweak) *corev1.Pod {
	ginkgo.GinkgoHelper()
	namespace := s.Namespace(ctx)
	s.Node(ctx, s.Own)
	if node == s.Other {
		s.Node(ctx, node)
	}
	pod := fixtures.Pod(namespace, s.NewName("pod"), node, tweaks...)
	s.Put(ctx, pod)
	return pod
}

// Account is the service account of the scene's pods.
func (s *Scene) Account(ctx context.Context) *corev1.ServiceAccount {
	s.Namespace(ctx)
	return s.account
}
