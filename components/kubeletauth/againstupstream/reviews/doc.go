// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reviews measures what kubelet-auth-proxy's questions to the API server cost a
// request, and how few of them are left by what it holds.
package reviews
