// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import "time"

// All waiting in one place. None of them bounds a refusal: those are asserted
// at once. They are long enough for a machine on which suites run beside each other.
const (
	// Soon bounds how long a change may take until those have seen it whom it concerns.
	// What it really took is in the report.
	Soon = 30 * time.Second
	// Outlived bounds how long a right may outlive its reason. That is a promise, so it is
	// no longer on a machine that has much to do.
	Outlived = 10 * time.Second
	// PodStart bounds the start of a pod whose image is on the node.
	PodStart = 90 * time.Second
	// NodeReady bounds how long a node may need to be Ready again.
	NodeReady = 90 * time.Second
	// ServerSwitch bounds a restart of kube-apiserver by its manifest.
	ServerSwitch = 3 * time.Minute

	// oneRequest bounds every request that a spec makes. It is longer than the
	// API server's retries of a webhook that answers with errors.
	oneRequest = 30 * time.Second
	// watchOpen is how long the server keeps a watch open that a spec starts only
	// to learn whether it may.
	watchOpen = time.Second
	often     = 20 * time.Millisecond
)
