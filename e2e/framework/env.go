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

// Env holds the objects of one spec: two nodes without kubelets, a namespace, and all other
// objects that the spec makes. It removes them after the spec.
type Env struct {
	*Cluster
	// Own and Other are node names that no other spec uses. The Node objects exist after the first
	// call of [Env.Node].
	Own, Other string

	namespace string
	account   *corev1.ServiceAccount
	nodes     map[string]*corev1.Node
	serial    int
	// changed is when the last object was created that may give a node a right.
	changed time.Time
}

func newEnv(c *Cluster) *Env {
	id := rand.String(6)
	return &Env{Cluster: c, Own: "e2e-own-" + id, Other: "e2e-other-" + id, nodes: map[string]*corev1.Node{}}
}

// Namespace returns the namespace of this spec. The first call makes it, with a service account.
func (e *Env) Namespace(ctx context.Context) string {
	if e.namespace != "" {
		return e.namespace
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   "e2e-" + rand.String(8),
		Labels: fixtures.AnyPod(),
		// An administrator who runs static pods in the namespace sets this annotation.
		Annotations: map[string]string{fixtures.MirrorAllowed: "true"},
	}}
	e.put(ctx, namespace)
	e.namespace = namespace.Name
	e.account = fixtures.ServiceAccount(e.namespace, fixtures.Account)
	e.put(ctx, e.account)
	return e.namespace
}

// Node returns a Node object without a kubelet. The first call for a name makes it. No pod is
// scheduled to it.
func (e *Env) Node(ctx context.Context, name string) *corev1.Node {
	if node, ok := e.nodes[name]; ok {
		return node
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{FakeNodeLabel: "true"}},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			Taints:        []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}},
		},
	}
	e.put(ctx, node)
	e.nodes[name] = node
	return node
}

// Address returns an IP address that is different for each Env. Two Nodes with one address would
// disturb each other. The range is for network tests (RFC 2544).
func (e *Env) Address() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(e.Own))
	n := sum.Sum32()
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&0xff, n&0xff)
}

// NewName returns a name that this Env has not used.
func (e *Env) NewName(kind string) string {
	e.serial++
	return fmt.Sprintf("%s-%s-%d", kind, e.Own[len("e2e-own-"):], e.serial)
}

// Put creates objects as the administrator and removes them after the spec. After that, an
// allowance may be delayed: see [Suite.ExpectAllowed].
func (e *Env) Put(ctx context.Context, objects ...k8s.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		e.put(ctx, object)
		e.changed = time.Now()
	}
}

func (e *Env) put(ctx context.Context, object k8s.Object) {
	ginkgo.GinkgoHelper()
	// Register the cleanup before the creation: the object may exist even if the answer is lost.
	// Objects in the Env's namespace are deleted with the namespace.
	if e.namespace == "" || object.GetNamespace() != e.namespace {
		ginkgo.DeferCleanup(e.remove, object)
	}
	if _, ok := object.(*corev1.Namespace); ok {
		e.namespaces = append(e.namespaces, object.GetName())
	}
	gomega.Expect(e.Objects.Create(ctx, object)).To(gomega.Succeed(), "creating %T %s", object, object.GetName())
}

// Remove deletes an object now.
func (e *Env) Remove(ctx context.Context, object k8s.Object) {
	ginkgo.GinkgoHelper()
	gomega.Expect(e.remove(ctx, object)).To(gomega.Succeed())
}

func (e *Env) remove(ctx context.Context, object k8s.Object) error {
	if err := e.Objects.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// PutAs creates objects as another user. It repeats a creation only while a lookup gets no answer in
// time. The administrator removes the objects after the spec.
func (e *Env) PutAs(ctx context.Context, who *Identity, objects ...k8s.Object) {
	ginkgo.GinkgoHelper()
	client, err := who.Objects()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, object := range objects {
		ginkgo.DeferCleanup(e.remove, object)
		gomega.Eventually(ctx, func() error {
			err := client.Create(ctx, object)
			if err != nil && !Unanswered(err.Error()) {
				return gomega.StopTrying("denied").Wrap(err)
			}
			return err
		}).WithTimeout(Soon).WithPolling(pollInterval).Should(gomega.Succeed(), "creating %T %s as %s", object,
			object.GetName(), who)
		e.changed = time.Now()
	}
}

// Pod makes a pod that is bound to a node, and what the pod needs: the namespace, its service
// account, and the Nodes of this Env that the request is about. The Env's own Node is always
// made, because that node usually makes the request. Without a Node object the request would be
// denied, whichever node the pod is on.
func (e *Env) Pod(ctx context.Context, node string, tweaks ...fixtures.PodTweak) *corev1.Pod {
	ginkgo.GinkgoHelper()
	namespace := e.Namespace(ctx)
	e.Node(ctx, e.Own)
	if node == e.Other {
		e.Node(ctx, node)
	}
	pod := fixtures.Pod(namespace, e.NewName("pod"), node, tweaks...)
	e.Put(ctx, pod)
	return pod
}

// Account returns the service account of the Env's pods.
func (e *Env) Account(ctx context.Context) *corev1.ServiceAccount {
	e.Namespace(ctx)
	return e.account
}
