// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodescope is an authorizer for ServiceAccounts of DaemonSets. It denies the use of a
// pod's token on objects of other nodes, for the resources that the account's owner names.
//
// A DaemonSet has one ServiceAccount and one pod on every node. RBAC grants its permissions to
// the account, so the token of each pod has them in the whole cluster. An attacker who controls
// one node gets such a token.
//
// With node scope, the owner names resources in an annotation of the account. These resources
// are the scope of the account. On a resource in the scope, each pod is limited to its node.
// This means: the pod may do what the kubelet of its node may do, and only if RBAC allows it
// too.
//
// # How a request is decided
//
//  1. The user is not a ServiceAccount: no opinion, without a reason. The credential is
//     revoked: denied (NS-REVOKE-1), also for an account in audit mode.
//  2. The caches are not complete, or do not contain the account: denied (NS-UNREADY). No
//     authorizer after this one would limit the pod to its node.
//  3. The request is not for a resource, or asks for the user's own permissions: no opinion
//     (NS-PASS-2).
//  4. The request is an impersonation check (NS-IMPERSONATE-1), creates a token or a pod
//     certificate (NS-TOKEN-1), or grants permissions (NS-GRANT-1). It is limited for every
//     account with a scope, whatever resources the scope names.
//  5. The resource is not in the scope: no opinion (NS-PASS-1).
//  6. The node of the pod cannot be verified from the token: denied (NS-IDENT-1 … 4).
//  7. The resource has its own rules: Nodes, pods, and declared custom resources.
//  8. For all other resources, the node authorizer decides as if that node sent the request
//     (NS-SCOPE-1).
//
// For an account in audit mode, a denial from step 3 on is reported, and the decision is no
// opinion (NS-PASS-3).
//
// The decision is never allow. It is either deny, or no opinion, and then the next authorizers
// decide. RBAC is one of them. So a scope never grants access, and one more resource in a scope
// never permits more.
//
// # What is not decided here
//
// The node authorizer allows some writes whose object it cannot see. It relies on admission to
// limit the node to its own objects: the name of a new object and the contents of a body. This
// package checks the name where the request has one. Package admission, below this package,
// checks bodies.
//
// Source: seed design "Node-Scoped DaemonSet" (kubernetes/enhancements#944), and KEP-4193 for
// the claims of tokens.
package nodescope
