// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the common part of Bulkhead's webhooks for all kinds of review: limits for
// requests in flight, reading of the body, logging, text that is safe to show, and metrics whose
// labels a user cannot invent.
//
// It contains no policy and no kind of review. It bounds what a user's requests can use: memory,
// log lines, time series, and the time of other users' requests.
package webhook
