// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// refusedAnnotationKeys is the audit annotation that names the annotations.
const refusedAnnotationKeys = "refused-annotation-keys"

// mirrorAnnotation is true for the annotations that KEP-1314 lists, some of
// which nothing reads any more, and for the note that the plugin LimitRanger leaves
// on every pod that it has given a default, before we are asked.
func mirrorAnnotation(key string) bool {
	switch key {
	case corev1.MirrorPodAnnotationKey, "kubernetes.io/config.hash", "kubernetes.io/config.seen",
		"kubernetes.io/config.source",
		"podpreset.admission.kubernetes.io/exclude",
		"seccomp.security.alpha.kubernetes.io/pod",
		"scheduler.alpha.kubernetes.io/preferAvoidPods",
		"node.kubernetes.io/bootstrap-checkpoint",
		"kubernetes.io/limit-ranger":
		return true
	}
	return strings.HasPrefix(key, "container.seccomp.security.alpha.kubernetes.io/") ||
		strings.HasPrefix(key, "container.apparmor.security.beta.kubernetes.io/") ||
		strings.HasPrefix(key, unrestrictedPrefix)
}

func checkMirrorAnnotations(q *request, policy *configuration.MirrorPods, pod *corev1.Pod) *rules.Decision {
	var refused []string
	for key := range pod.Annotations {
		if !mirrorAnnotation(key) && (policy.AllowedAnnotations == nil || !policy.AllowedAnnotations.Has(key)) {
			refused = append(refused, key)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	q.annotate(refusedAnnotationKeys, refused)
	return q.forbid(mirrorAnnotations,
		fmt.Sprintf("node %q must not create mirror pods with the following annotations: %s", q.node, someOf(refused)))
}
