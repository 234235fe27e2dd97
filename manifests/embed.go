// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests has the files that are applied in production. The installer, kustomize and the
// tests read the same files.
package manifests

import "embed"

// Paths of the files that other packages read by name.
const (
	// NodeAuthorizerStaticPod runs node-authorizer on the host of a kube-apiserver.
	NodeAuthorizerStaticPod = "node-authorizer/static-pod.yaml"
	// AuthorizationHardened has node-authorizer before the in-tree Node authorizer and RBAC.
	AuthorizationHardened = "node-authorizer/apiserver/authorization-hardened.yaml"
	// AuthorizationParity has node-authorizer instead of the in-tree Node authorizer.
	AuthorizationParity = "node-authorizer/apiserver/authorization-parity.yaml"
	// AuthorizationNodeScope has the authorizer entry for accounts with a node scope.
	AuthorizationNodeScope = "node-authorizer/apiserver/authorization-node-scope.yaml"
	// NodeScopeKubeconfig is how kube-apiserver connects to node-authorizer for these accounts.
	NodeScopeKubeconfig = "node-authorizer/apiserver/node-scope.kubeconfig"
	// NodeAuthorizerKubeconfig is how kube-apiserver connects to node-authorizer for nodes.
	NodeAuthorizerKubeconfig = "node-authorizer/apiserver/node-authorizer.kubeconfig"

	// NodeRestrictionStaticPod runs node-restriction on the host of a kube-apiserver.
	NodeRestrictionStaticPod = "node-restriction/static-pod.yaml"
	// RestrictionPolicy is the initial configuration of node-restriction in the hardened profile.
	RestrictionPolicy = "node-restriction/configuration-hardened.yaml"
	// Admission has the paths of kube-apiserver's webhooks, policies and client certificate.
	Admission = "node-restriction/apiserver/admission.yaml"
	// AdmissionKubeconfig has the client certificate of kube-apiserver for node-restriction.
	AdmissionKubeconfig = "node-restriction/apiserver/admission.kubeconfig"
	// RegistrationHardened registers node-restriction in addition to the in-tree NodeRestriction.
	RegistrationHardened = "node-restriction/apiserver/static/hardened.yaml"
	// RegistrationParity registers node-restriction instead of the in-tree NodeRestriction.
	RegistrationParity = "node-restriction/apiserver/static/parity.yaml"
	// RegistrationNodeScope registers node-restriction for accounts with a node scope. It is used
	// with one of the two above. Its list of accounts is empty.
	RegistrationNodeScope = "node-restriction/apiserver/static/node-scope.yaml"

	// ScopeSyncStaticPod runs scope-sync, which updates the lists of accounts.
	ScopeSyncStaticPod = "scope-sync/static-pod.yaml"

	// CertsStaticPod runs certificate-rotator, which renews Bulkhead's certificates.
	CertsStaticPod = "certs/static-pod.yaml"

	// KubeletPolicy limits requests to kubelets through the API server's nodes/proxy.
	KubeletPolicy = "kubelet-auth-proxy/apiserver/static-policies/kubelet-api.yaml"
	// KubeletApproverStaticPod runs kubelet-csr-approver, which approves kubelets' serving certificates.
	KubeletApproverStaticPod = "kubelet-approver/static-pod.yaml"
)

// FS has every manifest, by its path in this directory. kustomize applies the API objects. Static
// pods, configurations and the files under apiserver/ are copied to the control-plane host.
//
//go:embed */*.yaml */apiserver/*
var FS embed.FS
