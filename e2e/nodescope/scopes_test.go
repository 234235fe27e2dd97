// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	clusterRoles   = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	storageClasses = storagev1.SchemeGroupVersion.WithResource("storageclasses")
	selfReview     = Create(api.SelfSubjectAccessReviews).With(fixtures.SelfSubjectAccessReview())
)

// RBAC decides alone about resources that are not in the scope. A scope of everything includes all
// resources.
var _ = DescribeTable("requests and what a scope names:", decide,
	Entry("resource outside of the scope: left to RBAC", Allows("NS-PASS-1"), podOf(agent),
		plainly(List(api.Deployments))),
	Entry("any resource, with a scope of all resources: denied", DeniesBy("NS-PASS-1", "NS-SCOPE-1"), podOf(fullScope),
		plainly(List(api.Deployments)), "[NA-DEFAULT]"),
	Entry("resource without its subresource, with a scope of the subresource: left to RBAC", Allows("NS-PASS-1"),
		podOf(statuses), theNode(other, Patch(api.Nodes))),
	Entry("subresource in the scope, other node: denied", DeniesBy("NS-PASS-1", "NS-NODE-2"), podOf(statuses),
		theNode(other, Patch(api.Nodes).Sub("status")), "only of its own node"),
	Entry("subresource in the scope, own node: allowed", Allows("NS-NODE-2"), podOf(statuses),
		theNode(own, Patch(api.Nodes).Sub("status"))),
	Entry("resource of an API group in the scope: denied", DeniesBy("NS-PASS-1", "NS-SCOPE-1"), podOf(statuses),
		plainly(List(storageClasses)), "[NA-DEFAULT]"),
	Entry("resource of an API group in the scope that nodes may read: allowed", Allows("NS-SCOPE-1"), podOf(statuses),
		plainly(List(api.CSIDrivers))),
	Entry("resource of another API group: left to RBAC", Allows("NS-PASS-1"), podOf(statuses),
		plainly(List(clusterRoles))),
)

var _ = DescribeTable("requests that no scope limits, not even one of all resources:", decide,
	Entry("metrics", Allows("NS-PASS-2"), podOf(fullScope), plainly(GetPath("/metrics"))),
	Entry("discovery", Allows("NS-PASS-2"), podOf(fullScope), plainly(GetPath("/apis"))),
	Entry("health", Allows("NS-PASS-2"), podOf(fullScope), plainly(GetPath("/readyz"))),
	Entry("SelfSubjectAccessReview", Allows("NS-PASS-2"), podOf(fullScope), plainly(selfReview)),
	Entry("list of cluster roles: denied", DeniesBy("NS-PASS-2", "NS-SCOPE-1"), podOf(fullScope),
		plainly(List(clusterRoles)),
		"[NA-DEFAULT]"),
)

// A value that cannot be parsed or enforced is never wider than intended.
var _ = DescribeTable("an invalid scope", decide,
	Entry("limits the resources that it names", Denies("NS-SCOPE-1"), podOf(misspelt),
		bystander(other, Get(api.ConfigMaps)),
		"[NA-CM-1]"),
	Entry("limits the resources that it does not name", Denies("NS-SCOPE-1"), podOf(misspelt),
		plainly(List(api.Deployments)),
		"[NA-DEFAULT]"),
	Entry("limits the resources that it misspells", Denies("NS-NODE-1"), podOf(misspelt), theNode(other, Get(api.Nodes)),
		"[NA-NODE-1]"),
	Entry("leaves the rights of the own node", Allows("NS-NODE-1"), podOf(misspelt), theNode(own, Get(api.Nodes))),
	Entry("limits all resources if it names EndpointSlices", Denies("NS-SCOPE-1"), podOf(unenforceable),
		plainly(List(api.Deployments)), "[NA-DEFAULT]"),
	Entry("leaves discovery to RBAC", Allows("NS-PASS-2"), podOf(unenforceable), plainly(GetPath("/apis"))),
)

var _ = It("an invalid scope is reported in an event and counted in a metric", Denies("NS-SCOPE-1"),
	Label(OnHost), func(ctx SpecContext) {
		decide(ctx, podOf(misspelt), plainly(List(api.Deployments)), "[NA-DEFAULT]")
		Eventually(ctx, func() (int, error) {
			events, err := suite.Client.CoreV1().Events(stage.Namespace).List(ctx, metav1.ListOptions{
				FieldSelector: "involvedObject.kind=ServiceAccount,involvedObject.name=" + misspelt + ",reason=NodeScopeUnread",
			})
			if err != nil {
				return 0, err
			}
			return len(events.Items), nil
		}).WithTimeout(Soon).WithPolling(time.Second).Should(BeNumerically(">", 0))
		unread := must(suite.ComponentMetric(ctx, "bulkhead_node_scope_unread_annotations", `kind="ServiceAccount"`))
		Expect(unread).To(BeNumerically(">=", 2), "there are %s and %s", misspelt, unenforceable)
	})

// The annotation of a pod adds to the annotation of its account, and removes nothing.
var _ = DescribeTable("a pod with an annotation of its own", decide,
	Entry("is limited by it on another node", Denies("NS-NODE-1"), podOf(shared+"-"+narrow),
		theNode(other, Get(api.Nodes)), "[NA-NODE-1]"),
	Entry("has the rights of its own node", Allows("NS-NODE-1"), podOf(shared+"-"+narrow), theNode(own, Get(api.Nodes))),
	Entry("does not limit another pod of the account", Allows("NS-PASS-1"), podOf(shared), theNode(other, Get(api.Nodes))),
	Entry("is also limited by the scope of its account", Denies("NS-SCOPE-1"), podOf(adding+"-"+narrow),
		bystander(other, Get(api.ConfigMaps)), "[NA-CM-1]"),
	Entry("is also limited by the scope that it adds", Denies("NS-SCOPE-1"), podOf(adding+"-"+narrow),
		bystander(other, Get(api.Secrets)),
		"[NA-SECRET-1]"),
	Entry("is not limited on other resources", Allows("NS-PASS-1"), podOf(adding+"-"+narrow),
		theNode(other, Get(api.Nodes))),
)

// The same requests by an account without a scope.
var _ = DescribeTable("an account without an annotation is not affected:", decide,
	Entry("the other node's pods", AllowsBy("NS-POD-1", Behind), podOf(plain), onNode(other, List(api.Pods))),
	Entry("all secrets", AllowsBy("NS-SCOPE-1", Behind), podOf(plain), plainly(List(api.Secrets))),
	Entry("the other Node", AllowsBy("NS-NODE-2", Behind), podOf(plain), theNode(other, Patch(api.Nodes))),
	Entry("deployments", AllowsBy("NS-PASS-1", Behind), podOf(plain), plainly(List(api.Deployments))),
)
