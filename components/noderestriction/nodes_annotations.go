// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// kubeletAnnotation reports whether software on the node writes the annotation with the node's
// identity. node.alpha.kubernetes.io/ttl is not one of these: kube-controller-manager sets it.
func kubeletAnnotation(key string) bool {
	switch key {
	case "volumes.kubernetes.io/controller-managed-attach-detach",
		"alpha.kubernetes.io/provided-node-ip",
		"csi.volume.kubernetes.io/nodeid",
		"kubeadm.alpha.kubernetes.io/cri-socket":
		return true
	}
	return false
}

func (r *Restriction) reviewNodeAnnotations(q *request, old, node *corev1.Node) *rules.Decision {
	return r.optional(q, nodeAnnotations, func() *rules.Decision {
		if old == nil {
			return q.refuseAnnotations("set the following annotations: ", q.changedAnnotations(nil, node.Annotations))
		}
		if maps.Equal(old.Annotations, node.Annotations) {
			return nil
		}
		return q.refuseAnnotations("modify annotations: ", q.changedAnnotations(old.Annotations, node.Annotations))
	})
}

func (q *request) refuseAnnotations(what string, keys []string) *rules.Decision {
	if len(keys) == 0 {
		return nil
	}
	q.annotate(refusedAnnotationKeys, keys)
	return q.forbid(nodeAnnotations, fmt.Sprintf("node %q is not allowed to %s%s", q.node, what, someOf(keys)))
}

// changedAnnotations returns the keys that were added, removed or changed, and that a node may not
// write.
func (q *request) changedAnnotations(old, annotations map[string]string) (keys []string) {
	for key, value := range annotations {
		if was, had := old[key]; (!had || was != value) && !q.mayAnnotate(key) {
			keys = append(keys, key)
		}
	}
	for key := range old {
		if _, has := annotations[key]; !has && !q.mayAnnotate(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (q *request) mayAnnotate(key string) bool {
	return kubeletAnnotation(key) ||
		q.configuration != nil && q.configuration.Annotations != nil && q.configuration.Annotations.Has(key)
}
