// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// lease is a request for the heartbeat lease of a node.
func lease(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.In(fixtures.LeaseNamespace).Named(node) })
}

// bystanderOn returns the bystander pod on a node, with the fields that an event needs.
func bystanderOn(where place) *corev1.Pod {
	pod := fixtures.Pod(stage.Namespace, where.bystander(), where())
	pod.UID = stage.UIDs[pod.Name]
	return pod
}

// eventFrom creates an event about the bystander on the first node. The event's source is the
// second node.
func eventFrom(about, source place) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		return Create(api.Events).In(stage.Namespace).With(
			fixtures.EventAbout(bystanderOn(about), e.NewName("event"), source()))
	}
}

// node-authorizer decides a request without its own scope rule as it decides the same request of
// the node.
var _ = DescribeTable("an agent and what its node's pods use:", decide,
	Entry("it gets their secret", Allows("NS-SCOPE-1"), podOf(agent), bystander(own, Get(api.Secrets))),
	Entry("it does not get that of another node's", Denies("NS-SCOPE-1"), podOf(agent), bystander(other, Get(api.Secrets)),
		"[NA-SECRET-1]"),
	Entry("which the pod of its DaemonSet there gets", Allows("NS-SCOPE-1"), podOf(agent+onOther),
		bystander(other, Get(api.Secrets))),
	Entry("it does not get a secret that no pod uses", Denies("NS-SCOPE-1"), podOf(agent),
		named(unusedName, Get(api.Secrets)), "[NA-SECRET-1]"),
	Entry("it lists their secret by name", Allows("NS-SCOPE-1"), podOf(agent), selecting(own, List(api.Secrets))),
	Entry("it does not list that of another node's", Denies("NS-SCOPE-1"), podOf(agent),
		selecting(other, List(api.Secrets)), "[NA-SECRET-2]"),
	Entry("it does not list all", Denies("NS-SCOPE-1"), podOf(agent), plainly(List(api.Secrets)), "[NA-SECRET-2]"),
	Entry("it does not watch all of a namespace", Denies("NS-SCOPE-1"), podOf(agent), inStage(Watch(api.Secrets)),
		"[NA-SECRET-2]"),
	Entry("it writes none", Denies("NS-SCOPE-1"), podOf(agent), bystander(own, Patch(api.Secrets)), "[NA-SECRET-1]"),

	Entry("it gets their config map", Allows("NS-SCOPE-1"), podOf(agent), bystander(own, Get(api.ConfigMaps))),
	Entry("it does not get that of another node's", Denies("NS-SCOPE-1"), podOf(agent),
		bystander(other, Get(api.ConfigMaps)), "[NA-CM-1]"),
	Entry("it watches their config map by name", Allows("NS-SCOPE-1"), podOf(agent),
		selecting(own, Watch(api.ConfigMaps))),
	Entry("it does not watch that of another node's", Denies("NS-SCOPE-1"), podOf(agent),
		selecting(other, Watch(api.ConfigMaps)), "[NA-CM-2]"),
	Entry("it does not list all", Denies("NS-SCOPE-1"), podOf(agent), plainly(List(api.ConfigMaps)), "[NA-CM-2]"),
)

var _ = DescribeTable("an agent and what nodes have besides:", decide,
	Entry("it gets its node's lease", Allows("NS-SCOPE-1"), podOf(agent), lease(own, Get(api.Leases))),
	Entry("it does not get another's", Denies("NS-SCOPE-1"), podOf(agent), lease(other, Get(api.Leases)), "[NA-LEASE-3]"),
	Entry("it patches its node's lease", Allows("NS-SCOPE-1"), podOf(agent), lease(own, Patch(api.Leases))),
	Entry("it does not patch another's", Denies("NS-SCOPE-1"), podOf(agent), lease(other, Patch(api.Leases)),
		"[NA-LEASE-3]"),
	Entry("it does not list them", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(List(api.Leases).In(fixtures.LeaseNamespace)), "[NA-LEASE-3]"),
	Entry("it has none elsewhere", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(Get(api.Leases).In("kube-system").Named("kube-scheduler")), "[NA-LEASE-3]"),

	Entry("it tells of a pod on its node", Allows("NS-SCOPE-1"), podOf(agent), eventFrom(own, own)),
	Entry("it reads no events", Denies("NS-SCOPE-1"), podOf(agent), inStage(List(api.Events)), "[NA-UNI-EVENTS]"),
	Entry("nor by the other group, which it does not name", Denies("NS-SCOPE-1"), podOf(agent),
		inStage(List(api.NewEvents)),
		"[NA-UNI-EVENTS]"),
	Entry("it lists services", Allows("NS-SCOPE-1"), podOf(agent), plainly(List(api.Services))),
	Entry("it writes none", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(Patch(api.Services).In("default").Named("kubernetes")), "[NA-UNI-SERVICES]"),
	Entry("it lists CSI drivers", Allows("NS-SCOPE-1"), podOf(agent), plainly(List(api.CSIDrivers))),
	Entry("it deletes none", Denies("NS-SCOPE-1"), podOf(agent), plainly(DeleteAll(api.CSIDrivers)),
		"[NA-UNI-CSIDRIVERS]"),
)
