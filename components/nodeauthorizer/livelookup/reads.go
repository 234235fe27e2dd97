// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

// read is one call of the API server for a node: the list of its pods, or an object by name.
type read struct {
	resource        string
	namespace, name string
}

func (r read) isList() bool { return r.resource == graphsync.Pods }

func podsOfNode() read          { return read{resource: graphsync.Pods} }
func readNode(node string) read { return read{resource: graphsync.Nodes, name: node} }
func (r read) ofStranger() bool { return r.resource == graphsync.Nodes }

// readsFor lists the reads that can show a relation of the object to a node. A secret can also be
// related through a volume. That needs no extra read here, because a kubelet gets the volume before
// the secret.
func readsFor(kind graph.Kind, namespace, name string) []read {
	switch kind {
	case graph.PersistentVolumeClaim:
		return []read{podsOfNode(), {graphsync.PersistentVolumeClaims, namespace, name}}
	case graph.PersistentVolume:
		return []read{podsOfNode(), {graphsync.PersistentVolumes, "", name}}
	case graph.VolumeAttachment:
		return []read{{graphsync.VolumeAttachments, "", name}}
	case graph.ResourceSlice:
		return []read{{graphsync.ResourceSlices, "", name}}
	case graph.PodCertificateRequest:
		return []read{{graphsync.PodCertificateRequests, namespace, name}}
	case graph.CertificateSigningRequest:
		return []read{{graphsync.CertificateSigningRequests, "", name}}
	default:
		return []read{podsOfNode()}
	}
}

const (
	// podsPerPage and maxPages limit the memory for a list. A node may create any number of mirror
	// pods on itself, each as large as an object can be.
	podsPerPage = 64
	maxPages    = 32
)

var (
	errFold    = errors.New("the view could not take it")
	errTooMany = fmt.Errorf("more than %d pods", podsPerPage*maxPages)
)

// call reads from the API server and passes the result to the view. It returns how many objects
// were newer than the view. It returns an error if the object does not exist.
func (r read) call(ctx context.Context, client kubernetes.Interface, view View, node string) (news int, err error) {
	if r.isList() {
		return foldPods(ctx, client, view, node)
	}
	object, err := r.get(ctx, client)
	if err != nil {
		return 0, err
	}
	return fold(view, r.resource, object)
}

func fold(view View, resource string, objects ...runtime.Object) (int, error) {
	news, err := view.Fold(resource, objects...)
	if err != nil {
		return news, fmt.Errorf("%w: %w", errFold, err)
	}
	return news, nil
}

// foldPods sets no resource version, so that the list is consistent. It lists page by page, and
// needs no page after it has been passed to the view.
func foldPods(ctx context.Context, client kubernetes.Interface, view View, node string) (news int, err error) {
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		Limit:         podsPerPage,
	}
	for range maxPages {
		list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return news, err
		}
		taken, err := fold(view, graphsync.Pods, asObjects(list.Items)...)
		news += taken
		if err != nil || list.Continue == "" {
			return news, err
		}
		options.Continue = list.Continue
	}
	return news, errTooMany
}

func asObjects(pods []corev1.Pod) []runtime.Object {
	objects := make([]runtime.Object, 0, len(pods))
	for i := range pods {
		objects = append(objects, &pods[i])
	}
	return objects
}

func (r read) get(ctx context.Context, client kubernetes.Interface) (runtime.Object, error) {
	var now metav1.GetOptions
	switch r.resource {
	case graphsync.Nodes:
		return client.CoreV1().Nodes().Get(ctx, r.name, now)
	case graphsync.PersistentVolumes:
		return client.CoreV1().PersistentVolumes().Get(ctx, r.name, now)
	case graphsync.PersistentVolumeClaims:
		return client.CoreV1().PersistentVolumeClaims(r.namespace).Get(ctx, r.name, now)
	case graphsync.VolumeAttachments:
		return client.StorageV1().VolumeAttachments().Get(ctx, r.name, now)
	case graphsync.ResourceSlices:
		return client.ResourceV1().ResourceSlices().Get(ctx, r.name, now)
	case graphsync.PodCertificateRequests:
		return client.CertificatesV1().PodCertificateRequests(r.namespace).Get(ctx, r.name, now)
	case graphsync.CertificateSigningRequests:
		return client.CertificatesV1().CertificateSigningRequests().Get(ctx, r.name, now)
	default:
		return nil, fmt.Errorf("%s are not read by name", r.resource)
	}
}
