// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// backoff is the kubelet's: k8s.io/apiserver/pkg/server/options
// DefaultAuthWebhookRetryBackoff.
var backoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// retry calls until there is no error, one that is of no use to try again after, or
// no time. It returns the last error of a call, if there was one. again is asked
// before each further call, and may end it.
func retry(ctx context.Context, again func() bool, call func() error) error {
	var last error
	left := backoff.Steps
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		last = call()
		left--
		if last != nil && left > 0 && passes(last) && again() {
			return false, nil
		}
		return true, last
	})
	if last != nil {
		return last
	}
	return err
}

// passes tells an error that may pass, as k8s.io/apiserver/pkg/util/webhook
// DefaultShouldRetry does.
func passes(err error) bool {
	if _, told := apierrors.SuggestsClientDelay(err); told {
		return true
	}
	return utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
