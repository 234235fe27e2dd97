// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopesuggest works out the widest scope under which an account could go on
// with what it was seen to do. It reads audit logs and RBAC objects that it is given,
// asks the authorizer of node scope about each request, and talks to nobody itself.
package scopesuggest
