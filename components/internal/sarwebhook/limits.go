// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// patience is how long a request waits for each of its two places before it is
// denied. Together with what the authorizer may wait for live reads that is well
// below the 3 s after which kube-apiserver goes on without us.
const patience = time.Second / 2

// Limits bound the requests that are being decided at one time.
//
// Whom a review names is not always who caused it: everybody who may create
// SubjectAccessReviews, and every node may, has kube-apiserver ask about whom it
// likes. So nothing is held against a name once its request is answered. A rate
// of the name could be used up by somebody else, and a table of names filled with
// made-up ones.
//
// Requests in flight could be aimed as well if those over the bound were denied at
// once: hundreds of decisions pile up for a moment whenever they all wait for the
// same lock. But a decision takes microseconds, so a place is free again before
// anybody notices, and whoever waits for one gets it. Only refusals may take longer,
// because they are confirmed by live reads first; those who wait for these are
// bounded to half of a node's places. To keep a place from
// somebody for as long as requests wait takes a decision that does not come back,
// and that is what the bounds are for.
type Limits = webhook.Limits
