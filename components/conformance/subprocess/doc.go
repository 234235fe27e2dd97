// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package child builds programs, runs each as a process of its own, and says what it
// uses: memory, time on the cores, and what it tells of itself.
package child
