// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// connectionErrors logs what goes wrong between the proxy and the kubelet. Callers
// can make it go wrong, so only a few lines a second are kept.
type connectionErrors struct {
	logger  klog.Logger
	limiter *rate.Limiter
}

func newConnectionErrors(logger klog.Logger) *connectionErrors {
	return &connectionErrors{logger: logger, limiter: rate.NewLimiter(1, 10)}
}

// Write takes a line of the reverse proxy's.
func (e *connectionErrors) Write(line []byte) (int, error) {
	if e.limiter.Allow() {
		e.logger.Info("Passing on failed", "error", webhook.Loggable(strings.TrimSpace(string(line))))
	}
	return len(line), nil
}

func (e *connectionErrors) tell(err error) {
	if e.limiter.Allow() {
		e.logger.Info("The kubelet's answer was not passed on", "error", webhook.Loggable(err.Error()))
	}
}
