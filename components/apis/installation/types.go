// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package installation is the configuration file of `bulkhead install`: kind Installation in
// bulkhead.dev/v1alpha1.
package installation

import (
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The header of the file.
const (
	APIVersion = "bulkhead.dev/v1alpha1"
	Kind       = "Installation"
)

// Installation describes how Bulkhead is installed on the control-plane hosts of one cluster. All
// hosts use the same file. A field that is absent has its default, whatever was installed before.
type Installation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Profile is hardened, parity or in-tree. The default is hardened.
	Profile string `json:"profile,omitempty"`
	// Mode is audit or enforce. With audit, requests that Bulkhead would deny are only reported, with the
	// exceptions in docs/install.md, for example revoked credentials. The default is enforce.
	Mode string `json:"mode,omitempty"`
	// AuditFor is how long mode audit, and rules in mode audit, are to last. Nothing changes after it,
	// but bulkhead doctor reports it. The default is 168h.
	AuditFor *metav1.Duration `json:"auditFor,omitempty"`
	// Image has the components. The default is the image of the version of the program.
	Image string `json:"image,omitempty"`
	// Timeout is how long the API server, and before it each component, may take to become healthy.
	// The default is 3m.
	Timeout      *metav1.Duration `json:"timeout,omitempty"`
	Rules        Rules            `json:"rules,omitzero"`
	Certificates Certificates     `json:"certificates,omitzero"`
	// NodePolicy is the configuration of node-restriction, with its own apiVersion and kind. The
	// default is the file of the profile.
	NodePolicy           yaml.Node            `json:"nodePolicy,omitzero"`
	NodeRestriction      NodeRestriction      `json:"nodeRestriction,omitzero"`
	KubeletAPI           KubeletAPI           `json:"kubeletAPI,omitzero"`
	ServiceAccountTokens ServiceAccountTokens `json:"serviceAccountTokens,omitzero"`
	NodeScope            NodeScope            `json:"nodeScope,omitzero"`
}

// NodeRestriction is about kube-apiserver's calls of node-restriction.
type NodeRestriction struct {
	// FailurePolicy is Fail or Ignore, as in a ValidatingWebhookConfiguration. It applies if
	// kube-apiserver cannot call node-restriction, or gets no answer in time. With Fail, the writes of
	// nodes that node-restriction checks are denied. With Ignore, only in-tree NodeRestriction checks
	// them. Only hardened has Ignore. The default is Fail.
	FailurePolicy string `json:"failurePolicy,omitempty"`
}

// ServiceAccountTokens is about the lifetime of tokens.
type ServiceAccountTokens struct {
	// ExtendExpiration is true if kube-apiserver goes on extending tokens of pods to a year. Only
	// hardened changes that.
	ExtendExpiration bool `json:"extendExpiration,omitempty"`
}

// Rules has the modes of the rules.
type Rules struct {
	// Mode is the mode of all optional rules: off, audit or enforce. The default is enforce in
	// hardened and off in parity.
	Mode string `json:"mode,omitempty"`
	// Modes are the modes of single rules, by ID: off, audit or enforce for an optional rule, audit or
	// enforce for a rule of the nodePolicy. All other rules have no mode of their own.
	Modes map[string]string `json:"modes,omitempty"`
	// TerminatedPodGrace is how long a node keeps its rights for a pod that has ended. The default is
	// 30s.
	TerminatedPodGrace *metav1.Duration `json:"terminatedPodGrace,omitempty"`
	// CredentialProviderTokens is true if kubelets have credential providers that use ServiceAccount
	// tokens.
	CredentialProviderTokens bool `json:"credentialProviderTokens,omitempty"`
	// UnknownResources is deny or audit-on-newer-kubernetes: the decision for a node's request for a
	// resource that no rule names. With audit-on-newer-kubernetes, the request is only reported if
	// kube-apiserver has a newer minor version than node-authorizer knows. Otherwise it is denied. The
	// default is audit-on-newer-kubernetes.
	UnknownResources string `json:"unknownResources,omitempty"`
}

// Certificates has the lifetimes of the certificates that Bulkhead issues.
type Certificates struct {
	// Validity is how long a new certificate is valid. The default is 2160h.
	Validity *metav1.Duration `json:"validity,omitempty"`
	// RenewBefore is how long before its end a certificate is renewed. The default is 720h.
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
}

// KubeletAPI is the protection of the kubelets' API. Its fields about requests have the names and the
// meaning of those in KubeletConfiguration (kubelet.config.k8s.io/v1beta1).
type KubeletAPI struct {
	// Enabled is true by default. Only hardened protects the kubelets' API.
	Enabled *bool `json:"enabled,omitempty"`
	// NodeSelector is a label selector of the Linux nodes with kubelet-auth-proxy, in the form of
	// kubectl -l. The default is all.
	NodeSelector string `json:"nodeSelector,omitempty"`
	// LoopbackClients is deny or allow: the decision for clients on a node, other than the proxy, that
	// use the kubelet's API on 127.0.0.1. With allow, only the kubelet's own authentication and
	// authorization limit them. bulkhead node install applies it to a node. The default is allow in mode
	// audit, and deny otherwise.
	LoopbackClients string         `json:"loopbackClients,omitempty"`
	Authentication  Authentication `json:"authentication,omitzero"`
	Authorization   Authorization  `json:"authorization,omitzero"`
	// StreamingConnectionIdleTimeout is how long a stream may be idle. The default is 4h.
	StreamingConnectionIdleTimeout *metav1.Duration `json:"streamingConnectionIdleTimeout,omitempty"`
}

// Authentication is about bearer tokens and client certificates. Valid client certificates are always
// accepted.
type Authentication struct {
	X509    AuthenticationX509    `json:"x509,omitzero"`
	Webhook AuthenticationWebhook `json:"webhook,omitzero"`
}

// AuthenticationX509 is about client certificates. The client CA is the cluster's.
type AuthenticationX509 struct {
	// ExpiredRevocationLists is the decision for certificates of a CA whose revocation list has
	// expired. With refuse, all are denied. With allow, only those in the old list. The default is
	// allow in mode audit, and refuse otherwise.
	ExpiredRevocationLists string `json:"expiredRevocationLists,omitempty"`
}

// AuthenticationWebhook is about TokenReviews.
type AuthenticationWebhook struct {
	// Enabled is true by default. Without it, kubelet-auth-proxy accepts no tokens. Mode audit needs it.
	Enabled *bool `json:"enabled,omitempty"`
	// CacheTTL is how long a valid token is cached. The default is 2m.
	CacheTTL *metav1.Duration `json:"cacheTTL,omitempty"`
}

// Authorization is about the rights of users.
type Authorization struct {
	Webhook AuthorizationWebhook `json:"webhook,omitzero"`
}

// AuthorizationWebhook is about SubjectAccessReviews.
type AuthorizationWebhook struct {
	// CacheAuthorizedTTL is how long an allowed request is cached. The default is 5m.
	CacheAuthorizedTTL *metav1.Duration `json:"cacheAuthorizedTTL,omitempty"`
	// CacheUnauthorizedTTL is how long a denied request is cached. The default is 30s.
	CacheUnauthorizedTTL *metav1.Duration `json:"cacheUnauthorizedTTL,omitempty"`
}

// NodeScope limits the tokens of pods to the pods' nodes.
type NodeScope struct {
	Enabled bool `json:"enabled,omitempty"`
	// CustomResources are the custom resources that name their node, each in the form
	// widgets.example.com=field:spec.node or gadgets.example.com=label:example.com/node.
	CustomResources []string `json:"customResources,omitempty"`
}
