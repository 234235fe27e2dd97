// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook is what the webhooks of Bulkhead share, whatever kind of review
// they answer: the places that requests take, the reading of a body, the way to the
// log, text that is safe to show, and metrics whose labels nobody can make up.
//
// It knows no policy and no kind of review. All of it bounds what the author of a
// request can bring about: memory, lines, time series, and the time of others.
package webhook
