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
	// NodeAuthorizerKubeconfig tells kube-apiserver how to call ours.
	NodeAuthorizerKubeconfig = "node-authorizer/apiserver/node-authorizer.kubeconfig"
)

// FS holds every manifest under its path in this directory. API objects are
// applied with kustomize; files under apiserver/ and static pods are placed on
// the control-plane host.
//
//go:embed */*.yaml */apiserver/*
var FS embed.FS
