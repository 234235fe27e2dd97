// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// history contains the past events that explain upstream's answers. Upstream's answers depend on
// the past, and Bulkhead's do not.
type history struct {
	// taken contains the objects as upstream's event handlers last processed them.
	taken map[generator.Key]generator.Object
	// naming is the number of bound pods that name an object now. most is the maximum of that
	// number so far.
	naming, most map[generator.Key]int
	// twice contains the objects that one pod named more than once, with the nodes of such pods.
	twice map[generator.Key][]string
}

// indexThreshold is the number of consumers from which on upstream counts them.
const indexThreshold = 200

func newHistory() history {
	return history{
		taken:  map[generator.Key]generator.Object{},
		naming: map[generator.Key]int{},
		most:   map[generator.Key]int{},
		twice:  map[generator.Key][]string{},
	}
}

func (h history) add(event generator.Event) {
	if isIgnored(event) {
		return
	}
	if old, ok := h.taken[event.Key].(generator.Pod); ok {
		for key := range times(old) {
			h.naming[key]--
		}
	}
	delete(h.taken, event.Key)
	if event.New == nil {
		return
	}
	h.taken[event.Key] = event.New
	if pod, ok := event.New.(generator.Pod); ok {
		h.count(pod)
	}
}

func (h history) count(pod generator.Pod) {
	for key, n := range times(pod) {
		h.naming[key]++
		h.most[key] = max(h.most[key], h.naming[key])
		if n > 1 && !slices.Contains(h.twice[key], pod.Node) {
			h.twice[key] = append(h.twice[key], pod.Node)
		}
	}
}

// times returns how often a bound pod names each object.
func times(pod generator.Pod) map[generator.Key]int {
	if pod.Mirror || pod.Node == "" {
		return nil
	}
	counts := make(map[generator.Key]int, len(pod.Refs))
	for _, key := range pod.Named() {
		counts[key]++
	}
	return counts
}

// isIgnored reports whether upstream's event handlers ignore an event. It is a separate
// implementation. Source: graph_populator.go.
func isIgnored(event generator.Event) bool {
	switch event.Key.Kind {
	case graph.Pod:
		return isIgnoredPod(event)
	case graph.ResourceSlice, graph.PodCertificateRequest:
		return event.Old != nil && event.New != nil
	default:
		return false
	}
}

func isIgnoredPod(event generator.Event) bool {
	before, was := event.Old.(generator.Pod)
	after, is := event.New.(generator.Pod)
	switch {
	case !is:
		return before.Node == ""
	case after.Node == "":
		return true
	case !was:
		return false
	}
	return before.Node == after.Node && before.UID == after.UID &&
		ephemeralContainers(after) <= ephemeralContainers(before) && slices.Equal(statuses(before), statuses(after))
}

func ephemeralContainers(pod generator.Pod) int {
	count := 0
	for _, ref := range pod.Refs {
		if strings.HasPrefix(ref.Via, "ephemeralContainers.") {
			count++
		}
	}
	return count
}

// claimStatus is one entry in a pod's status. The key of a template's claim is its index among the
// references. The key of the extended claim is -1.
type claimStatus struct {
	place int
	name  string
	made  bool
}

func statuses(pod generator.Pod) []claimStatus {
	var all []claimStatus
	extended := claimStatus{place: -1}
	for i, ref := range pod.Refs {
		switch ref.Via {
		case "status.resourceClaimStatuses":
			all = append(all, claimStatus{i, ref.Name, true})
		case "status.resourceClaimStatuses, without a name":
			all = append(all, claimStatus{i, "", false})
		case "status.extendedResourceClaimStatus":
			extended.name, extended.made = ref.Name, true
		}
	}
	return append(all, extended)
}
