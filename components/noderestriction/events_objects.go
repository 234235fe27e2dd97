// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// eventRights maps a kind to the right that a node needs to write events about such an object.
// These are objects that pods on the node use. A kubelet writes events about claims and volumes.
var eventRights = map[schema.GroupKind]Right{
	{Kind: "Secret"}:                {Version: "v1", Resource: "secrets"},
	{Kind: "ConfigMap"}:             {Version: "v1", Resource: "configmaps"},
	{Kind: "ServiceAccount"}:        {Version: "v1", Resource: "serviceaccounts"},
	{Kind: "PersistentVolumeClaim"}: {Version: "v1", Resource: "persistentvolumeclaims"},
	{Kind: "PersistentVolume"}:      {Version: "v1", Resource: "persistentvolumes"},
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}: {Group: "resource.k8s.io", Version: "v1",
		Resource: "resourceclaims"},
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}: {Group: "storage.k8s.io", Version: "v1",
		Resource: "volumeattachments"},
	{Group: "certificates.k8s.io", Kind: "PodCertificateRequest"}: {Group: "certificates.k8s.io", Version: "v1",
		Resource: "podcertificaterequests"},
}

// maxName is the longest name, namespace or UID that is looked up.
const maxName = 253

func (r *Restriction) checkEventObjects(ctx context.Context, q *request) *rules.Decision {
	written, ok := eventOf(q.GetObject())
	if !ok {
		return q.unexpected(eventObject, q.GetObject())
	}
	// A kubelet updates an event each time it occurs again. An object that was already checked is
	// not looked up again.
	old, _ := eventOf(q.GetOldObject())
	updated := q.GetOperation() == admission.Update && old.about != nil
	if !updated || *written.about != *old.about {
		namespace := written.about.Namespace
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		if namespace != q.GetNamespace() {
			return q.forbid(eventObject,
				fmt.Sprintf("node %q can only write an event in the namespace of the object that it is about, and in %s for one "+
					"without", q.node, metav1.NamespaceDefault))
		}
		if refused := r.checkEventObject(ctx, q, written.about); refused != nil {
			return refused
		}
	}
	if written.related == nil || updated && written.sameRelated(old) {
		return nil
	}
	return r.checkEventObject(ctx, q, written.related)
}

func (r *Restriction) checkEventObject(ctx context.Context, q *request, about *corev1.ObjectReference) *rules.Decision {
	own, err := r.reports(ctx, q, about)
	if err != nil {
		return q.raw(eventObject, err)
	}
	if !own {
		return q.forbid(eventObject,
			fmt.Sprintf("node %q can only write events about itself, its own pods, and objects that they bring to it", q.node))
	}
	return nil
}

// reports reports whether the node may write events about the object. A Node is identified by its
// name, not its UID. A kubelet sends no UID, or the UID of a deleted Node that it has cached
// (pkg/kubelet/kubelet_node_status.go nodeRefWithUID). Older kubelets send the name as the UID.
func (r *Restriction) reports(ctx context.Context, q *request, about *corev1.ObjectReference) (bool, error) {
	if about.Name == "" || len(about.Name) > maxName || len(about.Namespace) > maxName || len(about.UID) > maxName {
		return false, nil
	}
	version, err := schema.ParseGroupVersion(about.APIVersion)
	if err != nil {
		return false, nil
	}
	if core := version.Group == "" && (version.Version == "" || version.Version == "v1"); core {
		switch about.Kind {
		case "Node":
			return about.Name == q.node && about.Namespace == "", nil
		case "Pod":
			return r.reportsPod(ctx, q, about)
		}
	}
	right, known := eventRights[schema.GroupKind{Group: version.Group, Kind: about.Kind}]
	if !known || r.config.Authorizer == nil {
		return false, nil
	}
	right.Verb, right.Namespace, right.Name = "get", about.Namespace, about.Name
	return r.config.Authorizer.Allowed(ctx, q.GetUserInfo(), right)
}

// reportsPod identifies a pod by its UID, and a static pod by its mirror pod. A kubelet writes
// events with the UID of the static pod. The mirror pod has that UID in its annotation. kubectl
// describe also looks for that UID.
func (r *Restriction) reportsPod(ctx context.Context, q *request, about *corev1.ObjectReference) (bool, error) {
	if about.Namespace == "" || about.UID == "" {
		return false, nil
	}
	node, err := r.config.Cluster.BoundTo(ctx, about.Namespace, about.Name, about.UID)
	if err == nil {
		return node == q.node, nil
	}
	if !apierrors.IsNotFound(err) {
		return false, err
	}
	pod, err := r.config.Cluster.Pod(ctx, about.Namespace, about.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return pod.Spec.NodeName == q.node && pod.Annotations[corev1.MirrorPodAnnotationKey] == string(about.UID), nil
}
