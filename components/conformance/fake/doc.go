// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package standin has what stands in for a kubelet and for a kube-apiserver while
// kubelet-auth-proxy is measured between them: answers of a fixed size, streams that
// carry as much as they are told, reviews that take a fixed time.
package standin
