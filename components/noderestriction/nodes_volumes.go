// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	volumesAttached = rules.Rule{
		ID:          "NR-VOLUME-1",
		Description: "A node does not set or change status.volumesAttached of its Node.",
		Source: "ours; pkg/controller/volume/attachdetach/attach_detach_controller.go " +
			"populateActualStateOfWorld: kube-controller-manager takes from this list what is attached where " +
			"when it starts. A kubelet only reads it",
		Extension: true,
		Optional:  true,
	}
	volumesInUse = rules.Rule{
		ID: "NR-VOLUME-2",
		Description: "A node adds to status.volumesInUse of its Node only volumes that status.volumesAttached lists, " +
			"and volumes of pods that are bound to the node.",
		Source: "ours; pkg/kubelet/volumemanager/volume_manager.go GetVolumesInUse; a volume in use is not detached: " +
			"pkg/volume/util/operationexecutor/operation_generator.go verifyVolumeIsSafeToDetach",
		Extension: true,
		Optional:  true,
	}
)

// reviewNodeVolumes checks the two lists that the attach-detach controller reads. old is
// nil if the Node is created.
func (r *Restriction) reviewNodeVolumes(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if old == nil {
		old = noNode
	}
	if !slices.Equal(old.Status.VolumesAttached, node.Status.VolumesAttached) {
		if refused := r.optional(q, volumesAttached, func() *rules.Decision {
			return q.forbid(volumesAttached,
				fmt.Sprintf("node %q is not allowed to modify status.volumesAttached", q.node))
		}); refused != nil {
			return refused
		}
	}
	if slices.Equal(old.Status.VolumesInUse, node.Status.VolumesInUse) {
		return nil
	}
	return r.optional(q, volumesInUse, func() *rules.Decision { return r.checkVolumesInUse(ctx, q, old, node) })
}

// checkVolumesInUse looks up the pods of the node only if there is a name that the old
// Node does not explain. A kubelet reports a volume as soon as a pod needs it, before it
// is attached, and until it is unmounted, after the pod has gone.
func (r *Restriction) checkVolumesInUse(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	unexplained := addedVolumes(old, node)
	if len(unexplained) == 0 {
		return nil
	}
	if err := r.explainByPods(ctx, q.node, unexplained); err != nil {
		return q.raw(volumesInUse, err)
	}
	if len(unexplained) == 0 {
		return nil
	}
	names := make([]string, 0, len(unexplained))
	for name := range unexplained {
		names = append(names, fmt.Sprintf("%.253q", string(name)))
	}
	return q.forbid(volumesInUse, fmt.Sprintf("node %q is not allowed to report volumes in use "+
		"that are not attached to it and that none of its pods has: %s", q.node, someOf(names)))
}

// addedVolumes are the names in use that were neither in use nor attached before.
func addedVolumes(old, node *corev1.Node) map[corev1.UniqueVolumeName]bool {
	added := make(map[corev1.UniqueVolumeName]bool, len(node.Status.VolumesInUse))
	for _, name := range node.Status.VolumesInUse {
		added[name] = true
	}
	for _, name := range old.Status.VolumesInUse {
		delete(added, name)
	}
	for _, volume := range old.Status.VolumesAttached {
		delete(added, volume.Name)
	}
	return added
}
