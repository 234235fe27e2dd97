// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"log"
	"strings"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
)

// connectionLog logs the messages of net/http about single connections. Every user on the host can
// make a handshake fail, so it logs only a few lines a second.
type connectionLog struct {
	logger  klog.Logger
	limiter *rate.Limiter
}

// NewConnectionLog returns a logger for [net/http.Server.ErrorLog].
func NewConnectionLog(logger klog.Logger) *log.Logger {
	return log.New(&connectionLog{logger: logger, limiter: rate.NewLimiter(1, 10)}, "", 0)
}

func (l *connectionLog) Write(line []byte) (int, error) {
	if l.limiter.Allow() {
		l.logger.Info("Connection failed", "error", strings.TrimSpace(string(line)))
	}
	return len(line), nil
}
