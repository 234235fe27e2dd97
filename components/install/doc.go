// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package install puts Bulkhead on a kubeadm control-plane host and takes it
// off again.
//
// Every step can be taken back. What a step touches is saved in a journal on
// the disk before it is touched; when a step fails, or the API server is not
// healthy in time, or a run is interrupted, the journal is played backwards. A
// run that was killed leaves its journal, and the next run plays it first.
package install
