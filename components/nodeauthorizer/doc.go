// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeauthorizer decides what a node may ask of the API server.
//
// A stolen kubelet credential should be worth no more than the pods of the node
// it was stolen from. So a node reads what those pods need, and writes what
// reports on them; everything else is not a node's business.
//
// # How a request is decided
//
//  1. The caller is not a node: no opinion, and no reason. A node with a revoked
//     credential: refused (NA-REVOKE-1). A node that does not say which it is: refused
//     (NA-IDENT-1).
//  2. The graph is not complete yet, or out of date: left to the authorizers behind (NA-UNREADY).
//  3. The request is for no resource: a few paths that every user may read are
//     left to the authorizers behind, the rest is refused (NA-PASS-1).
//  4. The request is for a resource: the group and resource, whatever the
//     version, choose the one function that decides. It looks at verb,
//     subresource, namespace, name and field selector, in upstream's order.
//  5. No function knows the resource: refused (NA-DEFAULT).
//
// What "refused" means is the [Mode]'s affair and nothing else is: in [Compat]
// it is no opinion, as in-tree, in [Strict] it is a denial. Reasons are the same
// in both. Some questions are left open even in Strict, because RBAC answers
// them and clusters need the answer; these are the NA-PASS rules.
//
// # Which objects are related to a node
//
// An object is related to a node if an arrow path leads from it to the node:
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
// [Relations] answers this; the package graph implements it. It may lag behind the
// cluster, so before a node is refused for what Relations does not know, a
// [Refresher] has it read live. Names that are
// only known when an object is written (a new lease, a mirror pod) cannot be
// checked here. NodeRestriction checks those at admission, and without it this
// authorizer protects little.
//
// # Which rule is named
//
// Every rule owns a class of requests (a resource, some verbs, perhaps a
// subresource) and both allows and refuses within it. A request and its twin
// that differs only in name, namespace or selector thus carry the same ID. A
// verb that nobody may use on a resource is refused by the rule whose description
// mentions it. An allowance names the rule of its class alone, not the gates
// that it passed before.
//
// # Rules that go beyond upstream
//
// Each optional rule is off, audited or enforced. Enforced, it refuses some of
// what the rule of the class would allow, under its own ID. Audited, it changes no
// answer, but each allowance that it would have refused is reported as a
// [Finding], once, and only after the same live reads that come before a refusal.
// Where several rules would refuse one request, the first of these is named:
//
//  1. NA-REVOKE-1, if the credential is revoked;
//  2. the rule of the class, if the form of the request (verb, subresource,
//     namespace, name) is not one that it allows;
//  3. NA-ENDPOINTS-1 or NA-CSR-1, of the resources they are about;
//  4. NA-NODE-4, if the node has no Node object, although it may be related;
//  5. NA-POD-6, NA-SA-3 or NA-PVC-3, in the order of graph.Condition, if nothing
//     but what that rule discounts relates the object to the node;
//  6. the rule of the class, if nothing at all relates it.
package nodeauthorizer
