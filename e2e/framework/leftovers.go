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
	// removal bounds how long the namespaces of a suite may take to go. A spec does not wait
	// for its own: the namespace controller is slow where many specs end together.
	removal = 3 * time.Minute
	// directoryRemoval bounds the wait for the kubelets, which clean up every two seconds. It is
	// longer than the 30 s for which a containerd shim waits for the reader of an exec's output,
	// if the client goes away while the exec begins.
	directoryRemoval = 45 * time.Second
	// hashOfStaticPod is the annotation with the UID by which a kubelet knows a static pod.
	hashOfStaticPod = "kubernetes.io/config.hash"
)

// awaitRemoval ends a suite. It waits until the namespaces that this process made are gone,
// and their pods from the disks of the nodes. The next suite then finds no pod, ServiceAccount
// or token that is about to disappear. A suite whose namespaces stay fails. A directory that
// stays is printed: containerd can be late to end a container whose exec was cut while it began, and
// the API has forgotten its pod.
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

// remainingNamespaces are those that this process made and that are not gone yet.
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

// describeNamespace says what keeps the namespace, as far as its conditions do.
func describeNamespace(namespace *corev1.Namespace) string {
	text := fmt.Sprintf("%s (%s)", namespace.Name, namespace.Status.Phase)
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			text += ": " + condition.Message
		}
	}
	return text
}

// directoriesWithoutPod are directories of pods on the disk of a node that the API does not
// have any more. A pod that is deleted without a grace period leaves its directory, with its
// token, until its kubelet cleans up.
func (c *Cluster) directoriesWithoutPod(ctx context.Context, node string) (sets.Set[string], error) {
	// The disk first: a pod that starts meanwhile is in the list that follows.
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

// uidsOnDisk are the names of the directories that a kubelet keeps for these pods.
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
