// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package why explains a decision: which authorizer or admission step made it, by which rule, which
// path of the graph exists or is missing, and what would allow the request.
//
// It asks the API server, with the caller's rights: a SubjectAccessReview, a dry run as the user, and
// reads of the objects that a relation needs. So the answer is that of the running components. No
// component has an endpoint for it: an endpoint would be one more way to learn what a node may do, and
// would need rights and a port of its own.
package why
