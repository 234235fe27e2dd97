// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission decides which objects the pods of accounts with a scope may write. It also
// decides who may write the annotations that define scopes.
//
// The node-scope authorizer leaves some checks to admission, as the node authorizer does: the
// name of a new object, and the contents of a body. So if a resource is in a pod's scope, this
// package checks the pod's write as if its node had sent it. It uses the rules of
// NodeRestriction for that.
//
// # How a write is decided
//
//  1. The user is not a ServiceAccount: admitted without a rule.
//  2. The caches are not complete: denied (NS-UNREADY).
//  3. No rule applies to the resource: admitted. The authorizer has decided.
//  4. The account or its pod cannot be looked up: denied (NS-UNREADY).
//  5. The user has a scope, and the write changes an annotation of node scope: denied
//     (NS-WRITE-1, NS-WRITE-2).
//  6. The resource is not in the user's scope: admitted, except for tokens, pod certificates
//     and secrets that are or become tokens (NS-TOKEN-2, NS-TOKEN-3).
//  7. The node of the pod cannot be verified from the token: denied (NS-IDENT-1 … 4).
//  8. The rules of NodeRestriction decide as for that node (NS-ADMIT-1). For pods and custom
//     resources, other rules replace or extend them (NS-ADMIT-2, NS-ADMIT-3, NS-CUSTOM-3). Then
//     the rules for tokens decide.
//
// For an account in audit mode, a denial from step 4 on is reported, and the write is admitted.
//
// Source: seed design "Node-Scoped DaemonSet" (kubernetes/enhancements#944), Workflow of
// NodeRestriction.
package admission
