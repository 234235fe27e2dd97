// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// removal bounds how long the deletion of a suite's namespaces may take. A spec does not wait
	// for its own namespace: the namespace controller is slow where many specs end at the same
	// time.
	removal = 3 * time.Minute
	// directoryRemoval bounds the wait for the kubelets, which clean up every two seconds. It is
	// longer than the 30 s for which a containerd shim waits for the reader of an exec's output, if
	// the client disconnects while the exec begins.
	directoryRemoval = 45 * time.Second
	// hashOfStaticPod is the annotation with the UID that a kubelet uses for a static pod.
	hashOfStaticPod = "kubernetes.io/config.hash"
)

// awaitRemoval ends a suite. It waits until the namespaces that this process made are deleted, and
// their pods removed from the disks of the nodes. The next suite then finds no pod, ServiceAccount
// or token that is about to disappear. A namespace that stays fails the suite. A directory that
// stays is only printed: containerd can end a container late if the client left an exec while it
// began, and the API no longer has its pod.
func (c *Cluster) awaitRemoval(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, c.remainingNamespaces).WithTimeout(removal).WithPolling(time.Second).
		Should(gomega.BeEmpty(), "namespaces of this suite are still there")
	if c.Host.Missing() != "" {
		return
	}
	nodes := slices.DeleteFunc([]string{c.ControlPlane, c.Worker}, func(name string) bool { return name == "" })
	for _, node := range nodes {
		left, err := c.awaitDirectories(ctx, node)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		if len(left) > 0 {
			fmt.Fprintf(ginkgo.GinkgoWriter, "after %s, directories of deleted pods are still on the disk of %s: %s\n",
				directoryRemoval, node, strings.Join(left, ", "))
		}
	}
}

// awaitDirectories returns the directories of deleted pods that are still on the disk of a node
// after [directoryRemoval].
func (c *Cluster) awaitDirectories(ctx context.Context, node string) ([]string, error) {
	gone, err := c.directoriesWithoutPod(ctx, node)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(directoryRemoval); ; time.Sleep(time.Second) {
		now, err := c.podDirectories(ctx, node)
		if err != nil {
			return nil, err
		}
		if left := sets.List(gone.Intersection(now)); len(left) == 0 || time.Now().After(deadline) {
			return left, nil
		}
	}
}

// remainingNamespaces returns the namespaces that this process made and that still exist.
func (c *Cluster) remainingNamespaces(ctx context.Context) ([]string, error) {
	var left []string
	for _, name := range c.namespaces {
		switch namespace, err := c.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading the namespace %s: %w", name, err)
		default:
			left = append(left, describeNamespace(namespace))
		}
	}
	return left, nil
}

// describeNamespace returns the name, the phase and the conditions that explain why the namespace
// still exists.
func describeNamespace(namespace *corev1.Namespace) string {
	text := fmt.Sprintf("%s (%s)", namespace.Name, namespace.Status.Phase)
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			text += ": " + condition.Message
		}
	}
	return text
}

// directoriesWithoutPod returns the pod directories on the disk of a node whose pod is no longer in
// the API. A pod that is deleted without a grace period leaves its directory, with its token, until
// its kubelet cleans up.
func (c *Cluster) directoriesWithoutPod(ctx context.Context, node string) (sets.Set[string], error) {
	// Read the disk first: the later list then includes every pod that starts between the two
	// reads.
	directories, err := c.podDirectories(ctx, node)
	if err != nil {
		return nil, err
	}
	pods, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", node, err)
	}
	return directories.Difference(uidsOnDisk(pods.Items)), nil
}

// uidsOnDisk returns the names of the directories that a kubelet has for these pods.
func uidsOnDisk(pods []corev1.Pod) sets.Set[string] {
	known := sets.New[string]()
	for i := range pods {
		known.Insert(string(pods[i].UID))
		if hash := pods[i].Annotations[hashOfStaticPod]; hash != "" {
			known.Insert(hash)
		}
	}
	return known
}

func (c *Cluster) podDirectories(ctx context.Context, node string) (sets.Set[string], error) {
	out, err := c.Host.Run(ctx, node, "ls /var/lib/kubelet/pods\n")
	return sets.New(strings.Fields(out)...), err
}
