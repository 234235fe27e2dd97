// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package program is the common part of Bulkhead's daemons: the flags for serving, limits, logging,
// feature gates and optional rules; the command that parses them; and the order in which components
// start and stop.
//
// It contains no policy. Each program passes its policy and its transport to this package.
package program
