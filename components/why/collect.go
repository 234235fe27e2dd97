// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

const (
	// pageSize is the number of objects in one answer of the API server.
	pageSize = 500
	// maxChains bounds the paths that are kept. A namespace can have thousands of pods with one secret.
	maxChains = 1000
)

// collector reads the objects that relate one object to nodes. It reads no secret and no config map:
// only what refers to them.
type collector struct {
	client kubernetes.Interface
	*view
}

// findPath returns how the object is related to the node.
func findPath(ctx context.Context, client kubernetes.Interface, node string, o object) *Path {
	c := collector{client, newView()}
	if err := c.collect(ctx, o); err != nil {
		return &Path{Unknown: cannotRead(err)}
	}
	return c.path(node, o)
}

func (c collector) collect(ctx context.Context, o object) error {
	switch o.kind {
	case kindOfNodes:
		return c.direct(ctx, o)
	case kindOfVolumes:
		volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return c.orAbsent(err)
		}
		return c.volume(ctx, volume, nil)
	case kindOfSecrets:
		if err := c.volumesWith(ctx, o.Reference); err != nil {
			return err
		}
	case kindOfPods:
		if o.Kind == graph.PersistentVolumeClaim {
			if err := c.claim(ctx, o.Namespace, o.Name); err != nil {
				return err
			}
		}
	}
	return c.podsWith(ctx, o.pointed(), nil)
}

// volumesWith follows the persistent volumes that use a secret.
func (c collector) volumesWith(ctx context.Context, secret graph.Reference) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.client.CoreV1().PersistentVolumes().List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if !slices.Contains(graph.VolumeReferences(&page.Items[i]), secret) {
				continue
			}
			if err := c.volume(ctx, &page.Items[i], []graph.Reference{secret}); err != nil {
				return err
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// volume follows a volume to its claim and the pods of the claim.
func (c collector) volume(ctx context.Context, volume *corev1.PersistentVolume, behind []graph.Reference) error {
	c.graph.SetPersistentVolume(volume)
	behind = append([]graph.Reference{{Kind: graph.PersistentVolume, Name: volume.Name}}, behind...)
	claim := volume.Spec.ClaimRef
	if claim == nil || claim.Name == "" {
		c.add(chain{steps: behind})
		return nil
	}
	if err := c.claim(ctx, claim.Namespace, claim.Name); err != nil {
		return err
	}
	to := graph.Reference{Kind: graph.PersistentVolumeClaim, Namespace: claim.Namespace, Name: claim.Name}
	return c.podsWith(ctx, to, behind)
}

// claim reads a claim for its owner: a pod gets access through an ephemeral volume only if it owns the
// claim.
func (c collector) claim(ctx context.Context, namespace, name string) error {
	claim, err := c.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return c.orAbsent(err)
	}
	c.graph.SetPersistentVolumeClaim(claim)
	return nil
}

// podsWith follows the pods that refer to an object. behind are the steps after the object.
func (c collector) podsWith(ctx context.Context, to graph.Reference, behind []graph.Reference) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.client.CoreV1().Pods(to.Namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			c.pod(&page.Items[i], to, behind)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

func (c collector) pod(pod *corev1.Pod, to graph.Reference, behind []graph.Reference) {
	named := chain{node: pod.Spec.NodeName,
		steps: append([]graph.Reference{{Kind: graph.Pod, Namespace: pod.Namespace, Name: pod.Name}, to}, behind...)}
	if slices.Contains(graph.PodReferences(pod), to) {
		c.graph.SetPod(pod)
		if graph.HasEnded(pod) {
			c.graph.EndPod(pod.Namespace, pod.Name, pod.UID)
		}
		c.add(named)
		return
	}
	if _, named.mirror = pod.Annotations[corev1.MirrorPodAnnotationKey]; !named.mirror {
		return
	}
	bare := pod.DeepCopy()
	delete(bare.Annotations, corev1.MirrorPodAnnotationKey)
	if slices.Contains(graph.PodReferences(bare), to) {
		c.add(named)
	}
}

// direct reads an object that names its node.
func (c collector) direct(ctx context.Context, o object) error {
	node, err := c.nodeOf(ctx, o)
	if err != nil {
		return c.orAbsent(err)
	}
	c.add(chain{node: node, steps: []graph.Reference{o.Reference}})
	return nil
}

// nodeOf returns the node that the object names, and puts the object into the graph.
func (c collector) nodeOf(ctx context.Context, o object) (string, error) {
	options := metav1.GetOptions{}
	switch o.Kind {
	case graph.Pod:
		pod, err := c.client.CoreV1().Pods(o.Namespace).Get(ctx, o.Name, options)
		if err != nil {
			return "", err
		}
		c.graph.SetPod(pod)
	case graph.VolumeAttachment:
		attachment, err := c.client.StorageV1().VolumeAttachments().Get(ctx, o.Name, options)
		if err != nil {
			return "", err
		}
		c.graph.SetVolumeAttachment(attachment)
	case graph.ResourceSlice:
		slice, err := c.client.ResourceV1().ResourceSlices().Get(ctx, o.Name, options)
		if err != nil {
			return "", err
		}
		c.graph.SetResourceSlice(slice)
	case graph.PodCertificateRequest:
		request, err := c.client.CertificatesV1().PodCertificateRequests(o.Namespace).Get(ctx, o.Name, options)
		if err != nil {
			return "", err
		}
		c.graph.SetPodCertificateRequest(request)
	case graph.CertificateSigningRequest:
		request, err := c.client.CertificatesV1().CertificateSigningRequests().Get(ctx, o.Name, options)
		if err != nil {
			return "", err
		}
		c.graph.SetCertificateSigningRequest(request)
	default:
		return "", fmt.Errorf("cannot read a %s", o.Kind)
	}
	return c.graph.NodeOf(o.Reference), nil
}

func (c *view) add(found chain) {
	if len(c.chains) < maxChains {
		c.chains = append(c.chains, found)
	}
}

// orAbsent notes an object that does not exist. That is an answer, not an error.
func (c *view) orAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		c.notes = append(c.notes, cannotRead(err))
		return nil
	}
	return err
}
