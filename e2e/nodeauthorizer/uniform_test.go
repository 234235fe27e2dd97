// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// endpoints are an object that no pod refers to.
var endpoints = plainly(Get(api.Endpoints).In("default").Named("kubernetes"))

// nodeEvent is an event of a node about itself.
var nodeEvent = forNode(own, func(node string) Request {
	event := fixtures.EventAboutNode(fixtures.Node(node), "told", node)
	return Create(api.Events).In(event.Namespace).With(event)
})

var _ = DescribeTable("every node", decide,
	Entry("creates token reviews", Allows("NA-UNI-TOKENREVIEWS"),
		plainly(Create(api.TokenReviews).With(fixtures.TokenReview()))),
	Entry("does not list token reviews", Denies("NA-UNI-TOKENREVIEWS"), plainly(List(api.TokenReviews))),

	Entry("creates subject access reviews", Allows("NA-UNI-SUBJECTACCESSREVIEWS"),
		plainly(Create(api.SubjectAccessReviews).With(fixtures.SubjectAccessReview()))),
	Entry("does not list subject access reviews", Denies("NA-UNI-SUBJECTACCESSREVIEWS"),
		plainly(List(api.SubjectAccessReviews))),

	Entry("creates local subject access reviews", Allows("NA-UNI-LOCALSUBJECTACCESSREVIEWS"),
		plainly(Create(api.LocalSubjectAccessReviews).In("default").With(fixtures.LocalSubjectAccessReview("default")))),
	Entry("does not list local subject access reviews", Denies("NA-UNI-LOCALSUBJECTACCESSREVIEWS"),
		plainly(List(api.LocalSubjectAccessReviews).In("default"))),

	Entry("gets a service", Allows("NA-UNI-SERVICES"), plainly(Get(api.Services).In("default").Named("kubernetes"))),
	Entry("lists services", Allows("NA-UNI-SERVICES"), plainly(List(api.Services))),
	Entry("watches services", Allows("NA-UNI-SERVICES"), plainly(Watch(api.Services))),
	Entry("does not delete a service", Denies("NA-UNI-SERVICES"),
		plainly(Delete(api.Services).In("default").Named("kubernetes"))),
	Entry("does not patch the status of a service", Denies("NA-UNI-SERVICES"),
		plainly(Patch(api.Services).In("default").Named("kubernetes").Sub("status"))),

	Entry("creates events", Allows("NA-UNI-EVENTS"), whenRegistered(nodeEvent)),
	Entry("creates events of the newer group", Allows("NA-UNI-EVENTS"),
		func(ctx context.Context, e *Env) Request {
			event := fixtures.NewEventAbout(e.Pod(ctx, e.Own), "told", e.Own)
			return Create(api.NewEvents).In(event.Namespace).With(event)
		}),
	Entry("patches events", Allows("NA-UNI-EVENTS"),
		whenRegistered(plainly(Patch(api.Events).In("default").Named("told").OrMissing()))),
	Entry("does not list events", Denies("NA-UNI-EVENTS"), whenRegistered(plainly(List(api.Events).In("default")))),
	Entry("does not list events of the newer group", Denies("NA-UNI-EVENTS"),
		whenRegistered(plainly(List(api.NewEvents).In("default")))),
	Entry("does not delete events", Denies("NA-UNI-EVENTS"),
		whenRegistered(plainly(Delete(api.Events).In("default").Named("told")))),

	Entry("does not get endpoints that nothing on it refers to", DeniesBeyond("NA-ENDPOINTS-1", "NA-UNI-ENDPOINTS"),
		endpoints),
	Entry("gets the service of that name", AllowsBy("NA-ENDPOINTS-1", "NA-UNI-SERVICES"),
		plainly(Get(api.Services).In("default").Named("kubernetes"))),
	Entry("does not list endpoints", Denies("NA-UNI-ENDPOINTS"), plainly(List(api.Endpoints).In("default"))),

	Entry("creates certificate signing requests", Allows("NA-UNI-CERTIFICATESIGNINGREQUESTS"),
		forNode(own, func(node string) Request {
			return Create(api.CertificateSigningRequests).With(signingRequest(node, node))
		})),
	Entry("does not delete certificate signing requests", Denies("NA-UNI-CERTIFICATESIGNINGREQUESTS"),
		plainly(Delete(api.CertificateSigningRequests).Named("any"))),
	Entry("does not approve certificate signing requests", Denies("NA-UNI-CERTIFICATESIGNINGREQUESTS"),
		plainly(Patch(api.CertificateSigningRequests).Named("any").Sub("approval"))),

	Entry("lists CSI drivers", Allows("NA-UNI-CSIDRIVERS"), plainly(List(api.CSIDrivers))),
	Entry("does not delete CSI drivers", Denies("NA-UNI-CSIDRIVERS"), plainly(Delete(api.CSIDrivers).Named("any"))),

	Entry("lists runtime classes", Allows("NA-UNI-RUNTIMECLASSES"), plainly(List(api.RuntimeClasses))),
	Entry("does not delete runtime classes", Denies("NA-UNI-RUNTIMECLASSES"),
		plainly(Delete(api.RuntimeClasses).Named("any"))),

	Entry("lists cluster trust bundles", Allows("NA-UNI-CLUSTERTRUSTBUNDLES"), plainly(List(api.ClusterTrustBundles))),
	Entry("does not delete cluster trust bundles", Denies("NA-UNI-CLUSTERTRUSTBUNDLES"),
		plainly(Delete(api.ClusterTrustBundles).Named("any"))),
)
