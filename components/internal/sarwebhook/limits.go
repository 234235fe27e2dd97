// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// patience is how long a request waits for each of its two places before it is denied. This wait,
// together with the authorizer's wait for live reads, is well below the 3 s after which
// kube-apiserver goes on without Bulkhead.
const patience = time.Second / 2

// Limits bound the requests that are decided at one time.
//
// The user in a review has not always caused it. A user who may create SubjectAccessReviews can
// make kube-apiserver review requests of any other user, and every node may create them. So no
// limit remembers a user after the request is answered. Otherwise another user could exhaust a rate
// limit for that user name, or fill a table of user names with invented ones.
//
// If requests over the limit were denied at once, such a user could cause denials for another user:
// hundreds of decisions are in flight for a moment whenever all wait for the same lock. But a
// decision takes microseconds, so a place becomes free soon and a waiting request gets it. Only
// denials may take longer, because live reads confirm them first. The requests that wait for these
// reads are limited to half of a node's places. A place stays taken for as long as requests wait
// only if a decision never returns. The limits exist for this case.
type Limits = webhook.Limits
