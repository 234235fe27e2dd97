// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// message sets an event's message of that many KiB.
func message(kib int) func(*Env, *corev1.Event) {
	return func(_ *Env, event *corev1.Event) { event.Message = strings.Repeat("x", kib<<10) }
}

// images reports a Node's image list of that many KiB.
func images(kib int) Request {
	var all []any
	for range kib {
		all = append(all, fields{"names": []string{strings.Repeat("x", 1<<10)}, "sizeBytes": 1})
	}
	return Patch(api.Nodes).Sub("status").With(status("images", all))
}

func finalizer(_ *Env, event *corev1.Event) { event.Finalizers = []string{"bulkhead.dev/e2e"} }

var _ = DescribeTable("the size and the finalizers of objects that a node writes", admitCertified,
	Entry("event of 32 KiB: allowed", Allows("NR-SIZE-1"), newEvent(own, message(32))),
	Entry("event of 512 KiB: denied", DeniesBeyond("NR-SIZE-1", Behind), newEvent(own, message(512)),
		"the limit is 65536"),
	Entry("status of its Node with 100 KiB: allowed", Allows("NR-SIZE-1"), registered(own, images(100))),
	Entry("status of its Node with 1 MiB: denied", DeniesBeyond("NR-SIZE-1", Behind), registered(own, images(1024)),
		"the limit is 524288"),

	Entry("event without a finalizer: allowed", Allows("NR-FINALIZER-1"), newEvent(own)),
	Entry("event with a finalizer: denied", DeniesBeyond("NR-FINALIZER-1", Behind), newEvent(own, finalizer),
		"cannot add the finalizer"),

	Entry("capacity of a claim: allowed", Allows("NR-PVC-3"),
		claim(Patch(api.PersistentVolumeClaims).Sub("status").With(status("capacity", fields{"storage": "2Mi"})))),
	Entry("allocated resources of a claim, which count for the quota of its namespace: denied",
		DeniesBeyond("NR-PVC-3", Behind),
		claim(Patch(api.PersistentVolumeClaims).Sub("status").With(status("allocatedResources", fields{"storage": "1Ei"}))),
		"is not allowed to raise status.allocatedResources"),
)
