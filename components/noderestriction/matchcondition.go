// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// MatchCondition returns the CEL expression that is false for the writes which kube-apiserver may
// admit without a call of the webhook, because [Restriction.Review] always admits them, without a
// finding and without a lookup. The limits of the webhook's decoder (NR-LIMIT) do not apply to them.
// They are most statuses of pods that a kubelet writes: new states of
// their containers.
//
// The expression has a value for each write of a node, so that no evaluation error can deny one. It
// names what may change. So a write of any other field, also of an unknown one, is reviewed. It
// needs Kubernetes 1.33.
func MatchCondition() string {
	return "!(request.operation == 'UPDATE' && has(request.subResource) && request.subResource == 'status' &&\n" +
		"request.resource.group == '' && request.resource.resource == 'pods' &&\n" + unreviewedPodStatus() + ")"
}

// uncheckedPodStatus are the fields of a pod's status that no rule compares.
var uncheckedPodStatus = []string{"conditions", "containerStatuses", "ephemeralContainerStatuses",
	"initContainerStatuses", "observedGeneration", "startTime"}

// storedBytes is how many bytes one character of the text of a status needs when it is stored, at
// most.
const storedBytes = 12

// unreviewedPodStatus is true for a status whose changes no rule compares, and which is so small that
// NR-SIZE-1 admits it. NR-SIZE-1 does not count managedFields of pods.
func unreviewedPodStatus() string {
	return allOf(
		"has(oldObject.spec.nodeName)",
		"request.userInfo.username == '"+nodeidentity.Prefix+"' + oldObject.spec.nodeName",
		sameExcept("", "metadata", "status"),
		sameExcept("metadata", "managedFields"),
		sameExcept("status", uncheckedPodStatus...),
		fewElements(),
		fmt.Sprintf("size('%%s'.format([object.status])) <= %d", maxSizes[ofPods]/storedBytes),
	)
}

// mostElements bounds each list of a status whose text kube-apiserver computes. A kubelet can send a
// million empty elements in a request, and each needs much more memory as a CEL value and as text.
const mostElements = 100

// The lists of a status that may change, and the fields of a container's status. A status with another
// field, such as allocatedResourcesStatus, is reviewed.
var (
	containerLists  = []string{"containerStatuses", "ephemeralContainerStatuses", "initContainerStatuses"}
	containerFields = []string{"allocatedResources", "containerID", "image", "imageID", "lastState", "name", "ready",
		"resources", "restartCount", "started", "state", "stopSignal", "user", "volumeMounts"}
)

// fewElements is true if every list in the status is short.
func fewElements() string {
	short := func(path ...string) string {
		list, tests := path[0], []string{}
		for _, field := range path[1:] {
			list += "." + field
			tests = append(tests, "!has("+list+")")
		}
		return "(" + strings.Join(append(tests, fmt.Sprintf("size(%s) <= %d", list, mostElements)), " || ") + ")"
	}
	return allOf(
		fmt.Sprintf("%s.all(k, !(k in object.status) || size(object.status[k]) <= %d)",
			listOf(slices.Concat(containerLists, []string{"conditions"})), mostElements),
		listOf(containerLists)+".all(k, !(k in object.status) || object.status[k].all(c,",
	) + "\n" + allOf(
		"c.all(f, f in "+listOf(containerFields)+")",
		short("c", "volumeMounts"),
		short("c", "user", "linux", "supplementalGroups"),
		short("c", "resources", "claims")+"))",
	)
}

func listOf(words []string) string { return "['" + strings.Join(words, "', '") + "']" }

func allOf(expressions ...string) string { return strings.Join(expressions, " &&\n") }

// sameExcept returns an expression that is true if the object has the same fields below path as the
// old object, and the same values in all fields but the named ones.
func sameExcept(path string, fields ...string) string {
	named := listOf(fields)
	now, old := strings.TrimSuffix("object."+path, "."), strings.TrimSuffix("oldObject."+path, ".")
	return fmt.Sprintf("size(%[1]s) == size(%[2]s) &&\n"+
		"%[3]s.all(k, (k in %[1]s) == (k in %[2]s)) &&\n"+
		"%[1]s.all(k, k in %[3]s || k in %[2]s && %[1]s[k] == %[2]s[k])", now, old, named)
}
