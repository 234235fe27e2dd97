// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loaders has the API server's own loaders look at what scopelist writes. It is a
// package of its own, and holds tests only, so that those of scopelist, its fuzz target
// first of all, are not linked with an API server.
package loaders
