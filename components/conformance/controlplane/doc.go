// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package process measures the node-authorizer, and after it node-restriction, as it
// runs: a process of its own, in front of a real kube-apiserver and a real etcd that
// hold a large cluster.
//
// The objects are written straight to etcd, in the form in which kube-apiserver
// stores them; there are no kubelets and no controllers. Everything listens on
// loopback only, keeps its files in one temporary directory, and ends with the
// measurement.
package process
