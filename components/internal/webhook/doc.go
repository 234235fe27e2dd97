// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the handler of Bulkhead's webhooks, for all kinds of review. [Handler] reads a
// review, checks the limits, lets the policy decide, counts and logs the decision, and answers. A
// [Protocol] decodes and encodes one kind of review.
//
// The package contains no policy. It bounds what a user's requests can use: memory, log lines, time
// series, and the time of other users' requests. Metrics have no label that a user can invent.
package webhook
