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

// Scene holds the objects of one spec: two nodes without kubelets, a namespace, and all other
// objects that the spec makes. It removes them after the spec.
type Scene struct {
	*Cluster
	// Own and Other are node names that no other spec uses. The Node objects exist after the first
	// call of [Scene.Node].
	Own, Other string

	namespace string
	account   *corev1.ServiceAccount
	nodes     map[string]*corev1.Node
	serial    int
	// changed is when the last object was created that may give a node a right.
	changed time.Time
}

func newScene(c *Cluster) *Scene {
	id := rand.String(6)
	return &Scene{Cluster: c, Own: "e2e-own-" + id, Other: "e2e-other-" + id, nodes: map[string]*corev1.Node{}}
}

// Namespace returns the namespace of this spec. The first call makes it, with a service account.
func (s *Scene) Namespace(ctx context.Context) string {
	if s.namespace != "" {
		return s.namespace
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   "e2e-" + rand.String(8),
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
		// An administrator who runs static pods in the namespace sets this annotation.
		Annotations: map[string]string{fixtures.MirrorAllowed: "true"},
	}}
	s.put(ctx, namespace)
	s.namespace = namespace.Name
	s.account = fixtures.ServiceAccount(s.namespace, fixtures.Account)
	s.put(ctx, s.account)
	return s.namespace
}

// Node returns a Node object without a kubelet. The first call for a name makes it. No pod is
// scheduled to it.
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

// Address returns an IP address that is different for each scene. Two Nodes with one address would
// disturb each other. The range is for network tests (RFC 2544).
func (s *Scene) Address() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(s.Own))
	n := sum.Sum32()
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&0xff, n&0xff)
}

// NewName returns a name that this scene has not used.
func (s *Scene) NewName(kind string) string {
	s.serial++
	return fmt.Sprintf("%s-%s-%d", kind, s.Own[len("e2e-own-"):], s.serial)
}

// Put creates objects as the administrator and removes them after the spec. After that, an
// allowance may be delayed: see [Suite.ExpectAllowed].
func (s *Scene) Put(ctx context.Context, objects ...k8s.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		s.put(ctx, object)
		s.changed = time.Now()
	}
}

func (s *Scene) put(ctx context.Context, object k8s.Object) {
	ginkgo.GinkgoHelper()
	// Register the cleanup before the creation: the object may exist even if the answer is lost.
	// Objects in the scene's namespace are deleted with the namespace.
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

// PutAs creates objects as another user. The administrator removes them after the spec.
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

// Pod makes a pod that is bound to a node, and what the pod needs: the namespace, its service
// account, and the Nodes of this scene that the request is about. The scene's own Node is always
// made, because that node usually makes the request. Without a Node object the request would be
// denied, whichever node the pod is on.
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

// Account returns the service account of the scene's pods.
func (s *Scene) Account(ctx context.Context) *corev1.ServiceAccount {
	s.Namespace(ctx)
	return s.account
}
