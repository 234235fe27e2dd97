// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests holds the files that production applies, so that the
// installer, kustomize and the tests read the very same bytes.
package manifests

import "embed"

// Paths of the files that have to be found by name.
const (
	// NodeAuthorizerStaticPod runs the node authorizer beside a kube-apiserver.
	NodeAuthorizerStaticPod = "node-authorizer/static-pod.yaml"
	// AuthorizationHardened puts ours in front of in-tree Node and RBAC.
	AuthorizationHardened = "node-authorizer/apiserver/authorization-hardened.yaml"
	// AuthorizationParity puts ours in the place of in-tree Node.
	AuthorizationParity = "node-authorizer/apiserver/authorization-parity.yaml"
	// AuthorizationNodeScope has the entry for accounts that have a node scope.
	AuthorizationNodeScope = "node-authorizer/apiserver/authorization-node-scope.yaml"
	// NodeScopeKubeconfig tells kube-apiserver how to ask ours about them.
	NodeScopeKubeconfig = "node-authorizer/apiserver/node-scope.kubeconfig"
	// NodeAuthorizerKubeconfig tells kube-apiserver how to call ours.
	NodeAuthorizerKubeconfig = "node-authorizer/apiserver/node-authorizer.kubeconfig"

	// NodeRestrictionStaticPod runs node-restriction beside a kube-apiserver.
	NodeRestrictionStaticPod = "node-restriction/static-pod.yaml"
	// RestrictionPolicy is the operator's policy that the hardened profile starts with.
	RestrictionPolicy = "node-restriction/configuration-hardened.yaml"
	// Admission tells kube-apiserver where it finds webhooks, and who it is to them.
	Admission = "node-restriction/apiserver/admission.yaml"
	// AdmissionKubeconfig is who it is to them.
	AdmissionKubeconfig = "node-restriction/apiserver/admission.kubeconfig"
	// RegistrationHardened has ours asked behind in-tree NodeRestriction.
	RegistrationHardened = "node-restriction/apiserver/static/hardened.yaml"
	// RegistrationParity has ours asked in its place.
	RegistrationParity = "node-restriction/apiserver/static/parity.yaml"
	// RegistrationNodeScope has ours asked about accounts with a scope, beside one of
	// those. As it stands its list of accounts is empty.
	RegistrationNodeScope = "node-restriction/apiserver/static/node-scope.yaml"

	// ScopeSyncStaticPod keeps the lists of accounts in kube-apiserver's files.
	ScopeSyncStaticPod = "scope-sync/static-pod.yaml"

	// CertsStaticPod runs certificate-rotator, which renews Bulkhead's certificates.
	CertsStaticPod = "certs/static-pod.yaml"

	// KubeletPolicy closes the road to kubelets through the API server's nodes/proxy.
	KubeletPolicy = "kubelet-auth-proxy/apiserver/static-policies/kubelet-api.yaml"
	// KubeletApproverStaticPod runs kubelet-csr-approver, which approves kubelets' serving certificates.
	KubeletApproverStaticPod = "kubelet-approver/static-pod.yaml"
)

// FS holds every manifest under its path in this directory. API objects are
// applied with kustomize; files under apiserver/, static pods and configurations are
// placed on the control-plane host.
//
//go:embed */*.yaml */apiserver/*
var FS embed.FS
