// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// These rules are checked before or after all other rules. They never allow a request themselves.
var (
	identityNamed = rules.Rule{
		ID: "NA-IDENT-1",
		Description: "A node must have a node name: every request of a user in system:nodes whose name is only " +
			"\"system:node:\" is denied.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize; kubernetes/design-proposals-archive " +
			"node/kubelet-authorizer.md (Scoped Kubelet API Access)",
	}
	unready = rules.Rule{
		ID: "NA-UNREADY",
		Description: "Until the authorizer has read the whole cluster, and while its watches are stale, it " +
			"neither allows nor denies a node's request. The next authorizers decide.",
		Source: "Bulkhead: in-tree refuses while its informers fill (kubernetes/kubernetes#92506), and decides from " +
			"what it saw last when its watches fail",
		Extension: true,
	}
	nothingElse = rules.Rule{
		ID: "NA-DEFAULT",
		Description: "A node may do only what a rule allows: a request for a resource without a rule is denied. " +
			"If the API server has a newer minor version than Bulkhead knows, the request is reported and the " +
			"next authorizers decide, unless --unknown-resources=deny is set.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize; " +
			"plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go NodeRules",
	}
	// The transport decides limit, before it calls the authorizer. The rule is listed here because
	// its denials belong to this component.
	limit = rules.Rule{
		ID: "NA-LIMIT",
		Description: "A node has a limited share of the requests in flight, and its reviews have a largest size. " +
			"A review that is too large, or that gets no place in time, is denied. This applies in " +
			"every mode, also before the cluster has been read. The answer is never an error, because an error would " +
			"let another authorizer decide.",
		Source:    "Bulkhead: an error or a 429 would make the API server retry and then ask the next authorizers",
		Extension: true,
	}
)

// A cluster sends a few requests as a node that the in-tree Node authorizer never decides, because
// RBAC decides them. Strict mode leaves only these to RBAC. A denial would stop kubelets,
// certificate rotation or kubeadm.
var (
	passPaths = rules.Rule{
		ID: "NA-PASS-1",
		Description: "The next authorizers decide whether a node may GET discovery, OpenAPI, version and the " +
			"plain health paths. Every other non-resource request is denied.",
		Source: "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles: system:discovery, " +
			"system:public-info-viewer",
	}
	passSelfReviews = rules.Rule{
		ID: "NA-PASS-2",
		Description: "The next authorizers decide whether a node may create self subject reviews, which return " +
			"its own identity and rights. Every other verb on them is denied.",
		Source: "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles: system:basic-user; " +
			"cmd/kubeadm/app/util/config/cluster.go GetNodeName",
	}
	passSelfNodeClient = rules.Rule{
		ID: "NA-PASS-3",
		Description: "The next authorizers decide whether a node may renew its own client certificate (create " +
			"certificatesigningrequests/selfnodeclient). A certificate for another node (nodeclient) is denied.",
		Source: "pkg/controller/certificates/approver/sarapprove.go recognizers; " +
			"cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go AutoApproveNodeCertificateRotation",
	}
	passKubeadm = rules.Rule{
		ID: "NA-PASS-4",
		Description: "The next authorizers decide whether a node may get kubeadm's config maps kubeadm-config, " +
			"kubelet-config and kube-proxy in kube-system. Every other verb on them is denied unless the node's " +
			"pods use them.",
		Source: "cmd/kubeadm/app/phases/uploadconfig/uploadconfig.go UploadConfiguration; " +
			"cmd/kubeadm/app/phases/kubelet/config.go createConfigMapRBACRules; cmd/kubeadm/app/componentconfigs/kubeproxy.go " +
			"kubeProxyConfigFromCluster",
	}
	passAdmissionQuestions = rules.Rule{
		ID: "NA-PASS-5",
		Description: "When NodeRestriction checks whether a node may request tokens for an audience, or " +
			"certificates of a signer, that none of its pods names, the next authorizers decide. The same check " +
			"in another API group is denied.",
		Source: "plugin/pkg/admission/noderestriction/admission.go validateNodeServiceAccountAudience, " +
			"validateNodePodCertificateSigner",
	}
)

func authorizePath(a *request) rules.Decision {
	if a.Verb == "get" && isOpenPath(a.Path) {
		return noOpinion(passPaths)
	}
	return deny(passPaths, "no rule allows a node to "+a.Verb+" "+a.Path)
}

// isOpenPath reports whether RBAC lets every authenticated user read the path.
func isOpenPath(path string) bool {
	switch path {
	case "/api", "/apis", "/openapi", "/version", "/version/", "/healthz", "/livez", "/readyz":
		return true
	}
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") || strings.HasPrefix(path, "/openapi/")
}

func authorizeSelfReview(a *request) rules.Decision {
	if a.Verb == "create" && a.Subresource == "" {
		return noOpinion(passSelfReviews)
	}
	return noRule(passSelfReviews, a)
}

// isApproverQuestion reports whether a subresource exists only for the access checks of the
// certificate approver.
func isApproverQuestion(subresource string) bool {
	return subresource == "selfnodeclient" || subresource == "nodeclient"
}

// authorizeApproverQuestion decides an access check of kube-controller-manager. It checks, as the
// node that created a CSR, whether the CSR may be approved.
func authorizeApproverQuestion(a *request) rules.Decision {
	if a.Verb == "create" && a.Subresource == "selfnodeclient" {
		return noOpinion(passSelfNodeClient)
	}
	return noRule(passSelfNodeClient, a)
}

var kubeadmConfigMaps = []string{"kubeadm-config", "kubelet-config", "kube-proxy"}

func isKubeadmConfigMap(a *request) bool {
	return a.Namespace == "kube-system" && a.Subresource == "" && slices.Contains(kubeadmConfigMaps, a.Name)
}

// authorizeKubeadmConfigMap decides a request for a config map that is not related to the node in
// the graph. It keeps the message of the graph's decision. It also keeps the ID of an optional rule
// that refuses a list or a watch.
func authorizeKubeadmConfigMap(a *request, v rules.Decision) rules.Decision {
	switch {
	case a.Verb == "get":
		v.Effect, v.Rule = rules.NoOpinion, passKubeadm.ID
	case v.Rule == configMapGet.ID, v.Rule == configMapList.ID:
		v.Rule = passKubeadm.ID
	}
	return v
}

const (
	audienceVerb = "request-serviceaccounts-token-audience"
	signerVerb   = "request-serviceaccounts-podcertificate-signer"
)

// isAdmissionQuestion reports whether a verb exists only for the access checks of NodeRestriction.
// The resource in such a check is an audience or a signer, and its name can equal the name of a
// real resource. So it must not reach the rules of resources.
func isAdmissionQuestion(verb string) bool {
	return verb == audienceVerb || verb == signerVerb
}

// authorizeAdmissionQuestion leaves the check to RBAC: only a cluster administrator can grant this
// permission.
func authorizeAdmissionQuestion(a *request) rules.Decision {
	group := ""
	if a.Verb == signerVerb {
		group = "certificates.k8s.io"
	}
	if a.APIGroup == group && a.Subresource == "" {
		return noOpinion(passAdmissionQuestions)
	}
	return noRule(passAdmissionQuestions, a)
}
