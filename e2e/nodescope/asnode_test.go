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
var _ = DescribeTable("an account with a scope and the objects of pods:", decide,
	Entry("gets the secret of a pod on its node", Allows("NS-SCOPE-1"), podOf(agent), bystander(own, Get(api.Secrets))),
	Entry("does not get the object of a pod on another node", Denies("NS-SCOPE-1"), podOf(agent),
		bystander(other, Get(api.Secrets)),
		"[NA-SECRET-1]"),
	Entry("the pod of its DaemonSet on the other node gets it", Allows("NS-SCOPE-1"), podOf(agent+onOther),
		bystander(other, Get(api.Secrets))),
	Entry("does not get a secret that no pod uses", Denies("NS-SCOPE-1"), podOf(agent),
		named(unusedName, Get(api.Secrets)), "[NA-SECRET-1]"),
	Entry("lists the secret of a pod on its node by name", Allows("NS-SCOPE-1"), podOf(agent),
		selecting(own, List(api.Secrets))),
	Entry("does not list the secret of a pod on another node by name", Denies("NS-SCOPE-1"), podOf(agent),
		selecting(other, List(api.Secrets)), "[NA-SECRET-2]"),
	Entry("does not list the objects of all namespaces", Denies("NS-SCOPE-1"), podOf(agent), plainly(List(api.Secrets)),
		"[NA-SECRET-2]"),
	Entry("does not watch all secrets of a namespace", Denies("NS-SCOPE-1"), podOf(agent), inStage(Watch(api.Secrets)),
		"[NA-SECRET-2]"),
	Entry("does not write the object", Denies("NS-SCOPE-1"), podOf(agent), bystander(own, Patch(api.Secrets)),
		"[NA-SECRET-1]"),

	Entry("gets the config map of a pod on its node", Allows("NS-SCOPE-1"), podOf(agent),
		bystander(own, Get(api.ConfigMaps))),
	Entry("does not get the object of a pod on another node", Denies("NS-SCOPE-1"), podOf(agent),
		bystander(other, Get(api.ConfigMaps)), "[NA-CM-1]"),
	Entry("watches the config map of a pod on its node by name", Allows("NS-SCOPE-1"), podOf(agent),
		selecting(own, Watch(api.ConfigMaps))),
	Entry("does not watch the config map of a pod on another node by name", Denies("NS-SCOPE-1"), podOf(agent),
		selecting(other, Watch(api.ConfigMaps)), "[NA-CM-2]"),
	Entry("does not list the objects of all namespaces", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(List(api.ConfigMaps)), "[NA-CM-2]"),
)

var _ = DescribeTable("an account with a scope and the other objects of nodes:", decide,
	Entry("gets the lease of its node", Allows("NS-SCOPE-1"), podOf(agent), lease(own, Get(api.Leases))),
	Entry("does not get the lease of another node", Denies("NS-SCOPE-1"), podOf(agent), lease(other, Get(api.Leases)),
		"[NA-LEASE-3]"),
	Entry("patches the lease of its node", Allows("NS-SCOPE-1"), podOf(agent), lease(own, Patch(api.Leases))),
	Entry("does not patch the lease of another node", Denies("NS-SCOPE-1"), podOf(agent), lease(other, Patch(api.Leases)),
		"[NA-LEASE-3]"),
	Entry("does not list leases", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(List(api.Leases).In(fixtures.LeaseNamespace)), "[NA-LEASE-3]"),
	Entry("does not get a lease in another namespace", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(Get(api.Leases).In("kube-system").Named("kube-scheduler")), "[NA-LEASE-3]"),

	Entry("creates an event about a pod on its node", Allows("NS-SCOPE-1"), podOf(agent), eventFrom(own, own)),
	Entry("does not list events", Denies("NS-SCOPE-1"), podOf(agent), inStage(List(api.Events)), "[NA-UNI-EVENTS]"),
	Entry("does not list events of events.k8s.io, which its scope does not name", Denies("NS-SCOPE-1"), podOf(agent),
		inStage(List(api.NewEvents)),
		"[NA-UNI-EVENTS]"),
	Entry("lists services", Allows("NS-SCOPE-1"), podOf(agent), plainly(List(api.Services))),
	Entry("does not write the object", Denies("NS-SCOPE-1"), podOf(agent),
		plainly(Patch(api.Services).In("default").Named("kubernetes")), "[NA-UNI-SERVICES]"),
	Entry("lists CSI drivers", Allows("NS-SCOPE-1"), podOf(agent), plainly(List(api.CSIDrivers))),
	Entry("does not delete CSI drivers", Denies("NS-SCOPE-1"), podOf(agent), plainly(DeleteAll(api.CSIDrivers)),
		"[NA-UNI-CSIDRIVERS]"),
)
