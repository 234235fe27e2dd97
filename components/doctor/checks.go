// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
)

// Check is one check of an installation.
type Check struct {
	// ID is the name of the check.
	ID string
	// Description says what the check looks at.
	Description string
	// Means says what a finding means, unless the finding says it itself.
	Means string

	run func(context.Context, *inputs) ([]Finding, error)
}

// Checks returns all checks, in the order in which they run.
func Checks() []Check { return slices.Clone(checks) }

// checks are in the order of the damage that their findings mean. Findings of one severity have it, too.
var checks = []Check{
	{"authorizer", "the answer of the authorizers about a node that does not exist",
		"the in-tree Node authorizer and RBAC decide on requests of nodes, as without Bulkhead", checkAuthorizer},
	{"webhook", "the authorization file in force, node-restriction's registration, writes without it",
		"node-restriction does not check some or all of what nodes write", checkWebhook},
	{"hosts", "Bulkhead on each control-plane host: installed, used by kube-apiserver, pods ready",
		"requests that reach the API server of such a host are decided with less than Bulkhead's rules",
		checkArea(clusterstatus.AreaHosts)},
	{"objects", "Bulkhead's objects in the API, compared with what `bulkhead install` writes",
		"a component lacks a right that it needs, or has one that it must not have", checkObjects},
	{"certificates", "the end of each certificate of Bulkhead on the control-plane hosts",
		"without a valid certificate, kube-apiserver and Bulkhead's components cannot call each other", checkCertificates},
	{"authorities", "the end of the cluster's CA and of Bulkhead's CA, 90 days ahead",
		"after the end of a CA, every certificate that it has signed is invalid", checkAuthorities},
	{"kubelets", "nodes whose kubelet is not behind kubelet-auth-proxy",
		"a client with the right nodes/proxy, or with a stolen certificate, can run commands in pods there", checkKubelets},
	{"connections", "kube-apiserver's connection to each kubelet, and the end of its certificate",
		"kube-apiserver gets no logs and metrics of this node, and kubectl exec fails", checkConnections},
	{"rollout", "DaemonSet bulkhead-kubelet-auth-proxy: pods updated and ready",
		"a kubelet without a ready proxy cannot be reached, or runs an old version of the proxy", checkRollout},
	{"requests", "requests of kubelets for serving certificates that wait for longer than 5 minutes",
		"without a serving certificate, kube-apiserver cannot connect to the kubelet: no logs, no exec", checkRequests},
	{"revocations", "the list of revoked credentials, which `bulkhead revoke` writes",
		"a credential that was revoked may still be accepted", checkRevocations},
	{"bindings", "RBAC bindings that give nodes more rights, and nodes without a name",
		"these rights are in force whenever node-authorizer does not decide", checkBindings},
	{"drift", "the same version, profile, mode and configuration on all control-plane hosts",
		"the answer to a request depends on which API server gets it", checkArea(clusterstatus.AreaDrift)},
	{"kubeadm", "ConfigMap kubeadm-config, from which `kubeadm upgrade` writes kube-apiserver",
		"the next kubeadm command writes a kube-apiserver that does not match the host",
		checkArea(clusterstatus.AreaKubeadm)},
	{"version", "the API server's version, and whether all API servers have the same image",
		"Bulkhead's rules are tested against other versions of Kubernetes", checkVersion},
	{"restarts", "restarts of kube-apiserver and of Bulkhead's static pods in the last day",
		"while a component restarts, the in-tree components decide, or writes of nodes fail", checkRestarts},
	{"lease", "the installer's Lease bulkhead-installer",
		"an installation was interrupted: the host can be half-installed", checkLease},
	{"audit", "mode audit, and rules in mode audit, for longer than planned (--audit-for)",
		"Bulkhead reports what these settings are about, and denies none of it", checkAudit},
	{"scopes", "accounts with a node scope that is not in force on every host, or that no pod runs as",
		"a stolen token of such an account is not limited to its node yet", checkScopes},
	{"tokens", "clients with tokens that are valid only because kube-apiserver extends them",
		"a stolen token of such a client works for up to a year", checkTokens},
}
