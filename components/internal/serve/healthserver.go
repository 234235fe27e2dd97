// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// RunHealth serves probes and metrics, for a program that is not a webhook, until ctx is done. It uses
// the fields of config that are about these.
func RunHealth(ctx context.Context, config Config) error {
	if ip := net.ParseIP(config.BindAddress); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("bind address %q is not on loopback", config.BindAddress)
	}
	listener, err := listen(ctx, config.BindAddress, config.HealthPort)
	if err != nil {
		return err
	}
	s := &Server{config: config}
	probes := newHTTPServer(ctx, s.health())
	failure := make(chan error, 1)
	go func() { failure <- serving("health", probes.Serve(listener)) }()
	select {
	case <-ctx.Done():
		s.stopping.Store(true)
		return errors.Join(s.shutdown(ctx, probes), <-failure)
	case err := <-failure:
		return errors.Join(err, s.shutdown(ctx, probes))
	}
}
