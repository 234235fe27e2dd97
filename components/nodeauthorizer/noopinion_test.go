// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"
)

func TestNoOpinionOnRequestsWithoutARule(t *testing.T) { run(t, passedRows()) }

func passedRows() []row {
	const (
		others = "left to the next authorizers "
		no     = "no rule allows a node to "
	)
	csr := func(verb, subresource string) request {
		return request{Verb: verb, APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests",
			Subresource: subresource}
	}
	rows := []row{
		{"its metrics path is refused", request{Verb: "get", Path: "/metrics"}, refused, no + "get /metrics [NA-PASS-1]"},
		{"a write to a discovery path is refused", request{Verb: "post", Path: "/api"}, refused,
			no + "post /api [NA-PASS-1]"},
		{"the head of a discovery path is refused", request{Verb: "head", Path: "/api"}, refused,
			no + "head /api [NA-PASS-1]"},
		{"a single health check is refused", request{Verb: "get", Path: "/healthz/etcd"}, refused,
			no + "get /healthz/etcd [NA-PASS-1]"},
		{"a path that begins like another is refused", request{Verb: "get", Path: "/apisx"}, refused,
			no + "get /apisx [NA-PASS-1]"},
		{"the root path is refused", request{Verb: "get", Path: "/"}, refused, no + "get / [NA-PASS-1]"},
		{"an access review of itself is left open",
			request{Verb: "create", APIGroup: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, passed,
			others + "[NA-PASS-2]"},
		{"a rules review of itself is left open",
			request{Verb: "create", APIGroup: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}, passed,
			others + "[NA-PASS-2]"},
		{"a self subject review is left open",
			request{Verb: "create", APIGroup: "authentication.k8s.io", Resource: "selfsubjectreviews"}, passed,
			others + "[NA-PASS-2]"},
		{"a list of reviews of itself is refused",
			request{Verb: "list", APIGroup: "authentication.k8s.io", Resource: "selfsubjectreviews"}, refused,
			no + "list selfsubjectreviews.authentication.k8s.io [NA-PASS-2]"},
		{"a subresource of a review is refused",
			request{Verb: "create", APIGroup: "authentication.k8s.io", Resource: "selfsubjectreviews", Subresource: "status"},
			refused, no + "create selfsubjectreviews.authentication.k8s.io/status [NA-PASS-2]"},
		{"the renewal of its certificate is left open", csr("create", "selfnodeclient"), passed, others + "[NA-PASS-3]"},
		{"a certificate for any node is refused", csr("create", "nodeclient"), refused,
			no + "create certificatesigningrequests.certificates.k8s.io/nodeclient [NA-PASS-3]"},
		{"the renewal by another verb is refused", csr("update", "selfnodeclient"), refused,
			no + "update certificatesigningrequests.certificates.k8s.io/selfnodeclient [NA-PASS-3]"},
		{"the update of kubeadm's config map is refused",
			request{Verb: "update", Resource: "configmaps", Namespace: "kube-system", Name: "kubeadm-config"}, refused,
			"can only read resources of this type [NA-PASS-4]"},
		{"a watch of kubeadm's config map is refused",
			request{Verb: "watch", Resource: "configmaps", Namespace: "kube-system", Name: "kubeadm-config"}, refused,
			unrelated + "[NA-PASS-4]"},
		{"another config map of kube-system is refused",
			request{Verb: "get", Resource: "configmaps", Namespace: "kube-system", Name: "coredns"}, refused,
			unrelated + "[NA-CM-1]"},
		{"the namesake of kubeadm's config map is refused",
			request{Verb: "get", Resource: "configmaps", Namespace: "default", Name: "kubeadm-config"}, refused,
			unrelated + "[NA-CM-1]"},
		{"a secret named like kubeadm's config map is refused",
			request{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "kubeadm-config"}, refused,
			unrelated + "[NA-SECRET-1]"},
		{"a token for an audience is left open",
			request{Verb: "request-serviceaccounts-token-audience", Resource: "vault", Namespace: "ns", Name: "x"}, passed,
			others + "[NA-PASS-5]"},
		{"a token for an audience named like a resource is left open",
			request{Verb: "request-serviceaccounts-token-audience", Resource: "secrets", Namespace: "ns", Name: "x"}, passed,
			others + "[NA-PASS-5]"},
		{"a certificate of a signer is left open",
			request{Verb: "request-serviceaccounts-podcertificate-signer", APIGroup: "certificates.k8s.io",
				Resource: "example.com:signer", Namespace: "ns", Name: "x"}, passed, others + "[NA-PASS-5]"},
		{"an audience in another group is refused",
			request{Verb: "request-serviceaccounts-token-audience", APIGroup: "certificates.k8s.io", Resource: "vault",
				Namespace: "ns", Name: "x"}, refused,
			no + "request-serviceaccounts-token-audience vault.certificates.k8s.io [NA-PASS-5]"},
		{"a signer in another group is refused",
			request{Verb: "request-serviceaccounts-podcertificate-signer", Resource: "signer", Namespace: "ns", Name: "x"},
			refused, no + "request-serviceaccounts-podcertificate-signer signer [NA-PASS-5]"},
	}
	for _, path := range strings.Fields(
		"/api /api/v1 /apis /apis/apps/v1 /openapi /openapi/v3 /version /version/ /healthz /livez /readyz") {
		rows = append(rows, row{"the path " + path + " is left open", request{Verb: "get", Path: path}, passed,
			others + "[NA-PASS-1]"})
	}
	for _, name := range []string{"kubeadm-config", "kubelet-config", "kube-proxy"} {
		rows = append(rows, row{"kubeadm's " + name + " is left open",
			request{Verb: "get", Resource: "configmaps", Namespace: "kube-system", Name: name}, passed,
			unrelated + "[NA-PASS-4]"})
	}
	return rows
}
