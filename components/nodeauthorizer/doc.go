// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeauthorizer decides what a node may request from the API server.
//
// A stolen kubelet credential should give access only to what the pods of that node use. So a node
// may read what its pods need, and write what reports on those pods. Every other request is
// refused.
//
// # How a request is decided
//
//  1. The user is not a node: NoOpinion, without a reason. A node has a revoked credential:
//     refused (NA-REVOKE-1). The user name contains no node name: refused (NA-IDENT-1).
//  2. The graph is not complete yet, or is out of date: left to the next authorizers (NA-UNREADY).
//  3. The request is not for a resource: a few paths that every user may read are left to the next
//     authorizers. All others are refused (NA-PASS-1).
//  4. The request is for a resource: the API group and the resource, in any version, select the
//     one function that decides. It checks the verb, subresource, namespace, name and field
//     selector, in upstream's order.
//  5. No function handles the resource: refused (NA-DEFAULT). If the API server is newer than the
//     rules, the request is left to the next authorizers, with a finding.
//
// Only the [Mode] decides what "refused" means: NoOpinion in [Compat], as in-tree, and Deny in
// [Strict]. The reasons are the same in both modes. Some requests get NoOpinion even in Strict
// mode, because RBAC decides them and clusters need that decision. These are the NA-PASS rules.
//
// # Which objects are related to a node
//
// An object is related to a node if the arrows lead from the object to the node:
//
//	secret ───────────┐
//	config map ───────┤
//	service account ──┼─▶ pod ─┐
//	its tokens ───────┤        │
//	resource claim ───┤        │
//	secret ▶ PV ▶ PVC ┘        │
//	                           ├─▶ node
//	volume attachment ─────────┤
//	resource slice ────────────┤
//	pod certificate request ───┤
//	certificate signing request┘
//
// [Relations] knows these relations. The package graph implements it. It may lag behind the
// cluster. So before a node is refused for a missing relation, a [Refresher] does a live read. Some
// names are known only when an object is written, for example the name of a new lease or of a
// mirror pod. They cannot be checked here. NodeRestriction checks them at admission. Without
// NodeRestriction, this authorizer protects little.
//
// # Which rule is named
//
// Every rule has a class of requests: a resource, some verbs and possibly a subresource. Within its
// class, the rule both allows and refuses. Two requests that differ only in name, namespace or
// selector therefore get the same rule ID. A verb that no node may use on a resource is refused by
// the rule whose description mentions the verb. An allowed request names only the rule of its
// class, not the checks before it.
//
// # Rules that go beyond upstream
//
// Each optional rule is off, audited or enforced. An enforced rule refuses some requests that the
// rule of the class would allow, and the decision has its ID. An audited rule changes no decision.
// Each allowed request that it would refuse is reported once, as a finding, after the same live
// reads that are done before a refusal. If several rules would refuse a request, the first of these
// is named:
//
//  1. NA-REVOKE-1, if the credential is revoked;
//  2. the rule of the class, if it does not allow this combination of verb, subresource, namespace
//     and name;
//  3. NA-ENDPOINTS-1 or NA-CSR-1, for their resources;
//  4. NA-NODE-4, if the node has no Node object, even if the object is related to the node;
//  5. NA-POD-6, NA-SA-3 or NA-PVC-3, in the order of graph.Condition, if the object is related to
//     the node only in a way that this rule does not accept;
//  6. the rule of the class, if the object is not related to the node at all.
package nodeauthorizer
