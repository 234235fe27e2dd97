// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodescope decides what a token of a DaemonSet's pod is worth on nodes that
// are not the pod's own: on what its owner says, nothing.
//
// A DaemonSet has one ServiceAccount and a pod on every node. What RBAC gives to the
// account, the token of each pod has for the whole cluster, and whoever takes one node
// has it too. The owner names, in one annotation of the account, the resources on which
// a pod is held to its node; there the pod may do what the kubelet of its node may, and
// only if RBAC allows it as well.
//
// # How a request is decided
//
//  1. The caller is no ServiceAccount: no opinion, and no reason. Its token is revoked:
//     denied (NS-REVOKE-1), also for an account in audit.
//  2. The view of the cluster is not complete, or says nothing of the account: denied
//     (NS-UNREADY). There is no floor behind that would hold the pod.
//  3. The request is for no resource, or asks the caller's own rights: left to the
//     authorizers behind (NS-PASS-2).
//  4. It is a question about impersonation (NS-IMPERSONATE-1), makes a token or a pod
//     certificate (NS-TOKEN-1), or passes rights on (NS-GRANT-1): limited for every account
//     with a scope, whatever resources that names.
//  5. The resource is in no scope: left to the authorizers behind (NS-PASS-1).
//  6. The token does not say beyond doubt which node the pod is on: denied
//     (NS-IDENT-1 … 4).
//  7. The resource is one of those that have rules of their own: Nodes, pods, custom
//     resources that are declared.
//  8. For the rest, the node authorizer is asked as that node (NS-SCOPE-1).
//
// Of an account in audit, what would be denied from step 3 on is told, and left to the
// authorizers behind (NS-PASS-3).
//
// There is no allowance: what passes is left to the authorizers behind, of which RBAC
// is one, and everything else is denied. So a scope never gives anybody anything, and
// to name one more resource in it never lets more pass.
//
// # What is not decided here
//
// The node authorizer allows some writes whose object it cannot see, because admission
// holds a node to its own: what a new object is named, what a body says. Where the name
// is in the request this package looks at it; bodies are for package admission below it.
//
// Source: seed design "Node-Scoped DaemonSet" (kubernetes/enhancements#944), and KEP-4193
// for the claims of tokens.
package nodescope
