// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission decides what the pods of accounts with a scope may write, and who
// may write what a scope is made of.
//
// The authorizer of node scope leaves bodies to admission, as the node authorizer does:
// what a new object is named, what a body says. So a pod that is held to its node on a
// resource is judged here as if that node wrote, by the rules of NodeRestriction
// themselves.
//
// # How a write is decided
//
//  1. The writer is no ServiceAccount: admitted without a rule.
//  2. The view of the cluster is not complete: refused (NS-UNREADY).
//  3. There is no rule on what is written: admitted. The authorizer has decided.
//  4. The account or its pod cannot be looked up: refused (NS-UNREADY).
//  5. The writer has a scope, and would change what scopes are made of: refused
//     (NS-WRITE-1, NS-WRITE-2).
//  6. The resource is in no scope of the writer: admitted, but for tokens, pod certificates
//     and secrets with tokens (NS-TOKEN-2, NS-TOKEN-3).
//  7. The token does not say beyond doubt which node the pod is on: refused
//     (NS-IDENT-1 … 4).
//  8. The rules of NodeRestriction, as for that node (NS-ADMIT-1), and what replaces or
//     adds to them for pods and for custom resources (NS-ADMIT-2, NS-ADMIT-3,
//     NS-CUSTOM-3), then those for tokens.
//
// Of an account in audit, everything from step 4 on is admitted and told.
//
// Source: seed design "Node-Scoped DaemonSet" (kubernetes/enhancements#944), Workflow of
// NodeRestriction.
package admission
