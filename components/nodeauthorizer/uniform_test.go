// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

func TestUniform(t *testing.T) { run(t, uniformRows()) }

func uniformRows() []row {
	const no = "no rule allows a node to "
	return []row{
		{"a token review may have it", request{Verb: "create", APIGroup: "authentication.k8s.io", Resource: "tokenreviews"}, allowed, "[NA-UNI-TOKENREVIEWS]"},
		{"a token review, to read it, is refused", request{Verb: "get", APIGroup: "authentication.k8s.io", Resource: "tokenreviews", Name: "x"}, refused, no + "get tokenreviews.authentication.k8s.io [NA-UNI-TOKENREVIEWS]"},
		{"an access review may have it", request{Verb: "create", APIGroup: "authorization.k8s.io", Resource: "subjectaccessreviews"}, allowed, "[NA-UNI-SUBJECTACCESSREVIEWS]"},
		{"an access review, to list them, is refused", request{Verb: "list", APIGroup: "authorization.k8s.io", Resource: "subjectaccessreviews"}, refused, no + "list subjectaccessreviews.authorization.k8s.io [NA-UNI-SUBJECTACCESSREVIEWS]"},
		{"a local access review may have it", request{Verb: "create", APIGroup: "authorization.k8s.io", Resource: "localsubjectaccessreviews", Namespace: "ns"}, allowed, "[NA-UNI-LOCALSUBJECTACCESSREVIEWS]"},
		{"the deletion of a local access review is refused", request{Verb: "delete", APIGroup: "authorization.k8s.io", Resource: "localsubjectaccessreviews", Namespace: "ns"}, refused, no + "delete localsubjectaccessreviews.authorization.k8s.io [NA-UNI-LOCALSUBJECTACCESSREVIEWS]"},
		{"a service may get it", request{Verb: "get", Resource: "services", Namespace: "ns", Name: "x"}, allowed, "[NA-UNI-SERVICES]"},
		{"all services may list them", request{Verb: "list", Resource: "services"}, allowed, "[NA-UNI-SERVICES]"},
		{"all services may watch them", request{Verb: "watch", Resource: "services"}, allowed, "[NA-UNI-SERVICES]"},
		{"the patch of a service is refused", request{Verb: "patch", Resource: "services", Namespace: "ns", Name: "x"}, refused, no + "patch services [NA-UNI-SERVICES]"},
		{"a service by proxy is refused", request{Verb: "get", Resource: "services", Subresource: "proxy", Namespace: "ns", Name: "x"}, refused, no + "get services/proxy [NA-UNI-SERVICES]"},
		{"the status of a service is refused", request{Verb: "get", Resource: "services", Subresource: "status", Namespace: "ns", Name: "x"}, refused, no + "get services/status [NA-UNI-SERVICES]"},
		{"the creation of an event may do so", request{Verb: "create", Resource: "events", Namespace: "ns"}, allowed, "[NA-UNI-EVENTS]"},
		{"the update of an event may do so", request{Verb: "update", Resource: "events", Namespace: "ns", Name: "x"}, allowed, "[NA-UNI-EVENTS]"},
		{"the patch of an event of the newer group may do so", request{Verb: "patch", APIGroup: "events.k8s.io", Resource: "events", Namespace: "ns", Name: "x"}, allowed, "[NA-UNI-EVENTS]"},
		{"a list of events is refused", request{Verb: "list", Resource: "events", Namespace: "ns"}, refused, no + "list events [NA-UNI-EVENTS]"},
		{"the deletion of an event of the newer group is refused", request{Verb: "delete", APIGroup: "events.k8s.io", Resource: "events", Namespace: "ns", Name: "x"}, refused, no + "delete events.events.k8s.io [NA-UNI-EVENTS]"},
		{"endpoints by name may get them", request{Verb: "get", Resource: "endpoints", Namespace: "ns", Name: "x"}, allowed, "[NA-UNI-ENDPOINTS]"},
		{"a list of endpoints is refused", request{Verb: "list", Resource: "endpoints", Namespace: "ns"}, refused, no + "list endpoints [NA-UNI-ENDPOINTS]"},
		{"the creation of a signing request may do so", request{Verb: "create", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests"}, allowed, "[NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"a signing request may get it", request{Verb: "get", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests", Name: "x"}, allowed, "[NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"signing requests may list them", request{Verb: "list", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests"}, allowed, "[NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"signing requests may watch them", request{Verb: "watch", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests"}, allowed, "[NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"the deletion of a signing request is refused", request{Verb: "delete", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests", Name: "x"}, refused, no + "delete certificatesigningrequests.certificates.k8s.io [NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"the approval of a signing request is refused", request{Verb: "update", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "approval", Name: "x"}, refused, no + "update certificatesigningrequests.certificates.k8s.io/approval [NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"the status of a signing request is refused", request{Verb: "get", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "status", Name: "x"}, refused, no + "get certificatesigningrequests.certificates.k8s.io/status [NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"all CSI drivers may list them", request{Verb: "list", APIGroup: "storage.k8s.io", Resource: "csidrivers"}, allowed, "[NA-UNI-CSIDRIVERS]"},
		{"the creation of a CSI driver is refused", request{Verb: "create", APIGroup: "storage.k8s.io", Resource: "csidrivers"}, refused, no + "create csidrivers.storage.k8s.io [NA-UNI-CSIDRIVERS]"},
		{"all runtime classes may watch them", request{Verb: "watch", APIGroup: "node.k8s.io", Resource: "runtimeclasses"}, allowed, "[NA-UNI-RUNTIMECLASSES]"},
		{"the update of a runtime class is refused", request{Verb: "update", APIGroup: "node.k8s.io", Resource: "runtimeclasses", Name: "x"}, refused, no + "update runtimeclasses.node.k8s.io [NA-UNI-RUNTIMECLASSES]"},
		{"all trust bundles may list them", request{Verb: "list", APIGroup: "certificates.k8s.io", Resource: "clustertrustbundles"}, allowed, "[NA-UNI-CLUSTERTRUSTBUNDLES]"},
		{"the creation of a trust bundle is refused", request{Verb: "create", APIGroup: "certificates.k8s.io", Resource: "clustertrustbundles"}, refused, no + "create clustertrustbundles.certificates.k8s.io [NA-UNI-CLUSTERTRUSTBUNDLES]"},
	}
}

func TestClusterTrustBundlesWhileOff(t *testing.T) {
	runWith(t, Features{}, []row{
		{"all trust bundles is refused", request{Verb: "list", APIGroup: "certificates.k8s.io", Resource: "clustertrustbundles"}, refused, "no rule allows a node to list clustertrustbundles.certificates.k8s.io [NA-UNI-CLUSTERTRUSTBUNDLES]"},
	})
}
