// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var mirrorName = rules.Rule{
	ID: "NR-MIRROR-5",
	Description: "Where the gate MirrorPodNodeRestriction is on, the name of a mirror pod ends in the name of its node, " +
		"and it has no finalizers, " +
		"so that it takes no other node's place and goes when it is deleted.",
	Source:    "ours; pkg/kubelet/config/common.go generatePodName",
	Extension: true, Configured: true,
}

// checkMirrorName cannot tell the static pod b-a of the node c from the static pod b
// of a node a-c: names of nodes that end in another's are not told apart.
func checkMirrorName(q *request, pod *corev1.Pod) *rules.Decision {
	if strings.HasSuffix(pod.Name, "-"+strings.ToLower(q.node)) && len(pod.Finalizers) == 0 {
		return nil
	}
	return q.forbid(mirrorName,
		fmt.Sprintf("node %q can only create mirror pods whose names end in -%s and that have no finalizers", q.node,
			strings.ToLower(q.node)))
}
