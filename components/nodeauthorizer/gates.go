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
		Description: "A node must say which node it is: a user in system:nodes named \"system:node:\" and nothing more " +
			"gets nothing.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize; kubernetes/design-proposals-archive " +
			"node/kubelet-authorizer.md (Scoped Kubelet API Access)",
	}
	unready = rules.Rule{
		ID: "NA-UNREADY",
		Description: "Until it has seen the whole cluster, and while it hears nothing of it any more, the authorizer " +
			"neither allows nor denies what a node asks, but leaves it to the authorizers behind.",
		Source: "Bulkhead: in-tree refuses while its informers fill (kubernetes/kubernetes#92506), and decides from " +
			"what it saw last when its watches fail",
		Extension: true,
	}
	nothingElse = rules.Rule{
		ID:          "NA-DEFAULT",
		Description: "A node gets only what a rule gives it: a request for any resource that no rule speaks of is refused.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize; " +
			"plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go NodeRules",
	}
	// The transport decides limit, before it calls the authorizer. The rule is listed here because
	// its denials belong to this component.
	limit = rules.Rule{
		ID: "NA-LIMIT",
		Description: "A node never has more than its share of requests in flight, nor a review larger than a kubelet's can " +
			"be. What is too large, or finds no place within a second, is denied, in every mode and before the cluster has " +
			"been seen, and is never an error that would open the way to other authorizers.",
		Source:    "Bulkhead: an error or a 429 would make the API server retry and then ask the authorizers behind",
		Extension: true,
	}
)

// A cluster sends a few requests as a node that the in-tree Node authorizer never decides, because
// RBAC decides them. Strict mode leaves only these to RBAC. A denial would stop kubelets,
// certificate rotation or kubeadm.
var (
	passPaths = rules.Rule{
		ID: "NA-PASS-1",
		Description: "Whether a node may GET the API's discovery, OpenAPI, version and plain health paths is left to the " +
			"authorizers behind; any other non-resource request is refused.",
		Source: "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles: system:discovery, " +
			"system:public-info-viewer",
	}
	passSelfReviews = rules.Rule{
		ID: "NA-PASS-2",
		Description: "Whether a node may ask who it is and what it may do (create of self subject reviews) is left to the " +
			"authorizers behind; any other verb on them is refused.",
		Source: "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles: system:basic-user; " +
			"cmd/kubeadm/app/util/config/cluster.go GetNodeName",
	}
	passSelfNodeClient = rules.Rule{
		ID: "NA-PASS-3",
		Description: "Whether a node may have its own client certificate renewed (create " +
			"certificatesigningrequests/selfnodeclient) is left to the authorizers behind; a certificate for another node " +
			"(nodeclient) is refused.",
		Source: "pkg/controller/certificates/approver/sarapprove.go recognizers; " +
			"cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go AutoApproveNodeCertificateRotation",
	}
	passKubeadm = rules.Rule{
		ID: "NA-PASS-4",
		Description: "Whether a node may get kubeadm's config maps kubeadm-config, kubelet-config and kube-proxy in " +
			"kube-system is left to the authorizers behind; any other verb on them is refused unless its pods use them.",
		Source: "cmd/kubeadm/app/phases/uploadconfig/uploadconfig.go UploadConfiguration; " +
			"cmd/kubeadm/app/phases/kubelet/config.go createConfigMapRBACRules; cmd/kubeadm/app/componentconfigs/kubeproxy.go " +
			"kubeProxyConfigFromCluster",
	}
	passAdmissionQuestions = rules.Rule{
		ID: "NA-PASS-5",
		Description: "Whether a node may request tokens for an audience, or certificates of a signer, that no pod of its " +
			"names is left to the authorizers behind when NodeRestriction asks; asked in another API group it is refused.",
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
