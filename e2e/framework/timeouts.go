// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import "time"

// All timeouts in one place. No timeout applies to a denial: specs check denials at once. The
// timeouts are long enough for a machine that runs several suites at the same time.
const (
	// Soon bounds the time until all concerned components see a change. The report has the actual
	// time.
	Soon = 30 * time.Second
	// RevokeTimeout bounds how long a right may remain after its reason has ended. Bulkhead promises
	// this time, so a busy machine gets no extra time.
	RevokeTimeout = 10 * time.Second
	// PodStart bounds the start of a pod whose image is on the node.
	PodStart = 4 * time.Minute
	// NodeReady bounds the time until a node is Ready again.
	NodeReady = 4 * time.Minute
	// ServerSwitch bounds a restart of kube-apiserver by its manifest.
	ServerSwitch = 3 * time.Minute
	// ControllerManager bounds the time until kube-controller-manager has done something: it signs a
	// certificate, binds a volume or creates a pod. It exits when it cannot reach the API server, so
	// every switch of a profile ends it. The kubelet then restarts it, after at most 5 s in the
	// reference cluster and five minutes elsewhere. After that it must become leader again.
	ControllerManager = 7 * time.Minute

	// requestTimeout bounds every request of a spec. It is longer than the API server's retries of a
	// webhook that returns errors.
	requestTimeout = time.Minute
	// watchOpen is how long the server keeps a watch open that a spec starts only to test whether
	// it is allowed.
	watchOpen    = time.Second
	pollInterval = 20 * time.Millisecond
)
