// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package supported has the versions of Kubernetes that Bulkhead supports.
package supported

const (
	// Oldest is the first version that always sends field selectors to authorizers
	// (AuthorizeWithSelectors, GA in 1.34). Without them, an authorizer cannot distinguish "the pods of
	// this node" from "all pods".
	Oldest = "1.34.0"
	// Tested is the newest version with whose rules Bulkhead's rules are compared.
	Tested = "1.37.0"
)
