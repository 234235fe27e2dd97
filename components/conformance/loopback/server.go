// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// constant reads the request and writes the answer, which is ours to the same question.
type constant string

func (c constant) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, string(c))
}

// policy is what decides, and whose the requests are.
type policy struct {
	authorizer.UnconditionalAuthorizer
	nodeName func(user.Info) (string, bool)
	limit    rules.ID
	rules    []rules.Rule
}

// newHandler is the node authorizer's handler, as the program makes it.
func newHandler(p policy, registry metrics.KubeRegistry) *sarwebhook.Handler {
	return sarwebhook.New(sarwebhook.Config{
		Authorizer: p,
		NodeName:   p.nodeName,
		Limits:     sarwebhook.Limits{InFlight: 2000, InFlightPerNode: 200},
		MaxReading: serve.MaxStreams,
		LimitRule:  rules.Rule{ID: p.limit},
		Rules:      p.rules,
		Registry:   registry,
		Logger:     klog.Background(),
		Clock:      clock.RealClock{},
	})
}

// startServer serves the handler at the address that it returns, until stop,
// which waits for it. A nil registry makes one.
func startServer(ctx context.Context, files Files, handler http.Handler, registry metrics.KubeRegistry) (address string, stop func() error, err error) {
	secure, err := FreePort()
	if err != nil {
		return "", nil, err
	}
	health, err := FreePort()
	if err != nil {
		return "", nil, err
	}
	server, err := serve.New(serve.Config{
		BindAddress: "127.0.0.1", SecurePort: secure, HealthPort: health,
		CertFile: files.Server.CertFile, KeyFile: files.Server.KeyFile, ClientCAFile: files.CA.CertFile,
		AllowedClientNames: []string{ClientName}, Handler: handler, Registry: registry, Gatherer: registry,
		ShutdownTimeout: 10 * time.Second,
	})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(secure))
	var failed error
	err = WaitFor(ctx, 30*time.Second, func() bool {
		select {
		case failed = <-ended:
			return true
		default:
			return listens(address)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		cancel()
		return "", nil, fmt.Errorf("starting a server at %s: %w", address, err)
	}
	return address, stop, nil
}

func listens(address string) bool {
	connection, err := net.DialTimeout("tcp", address, time.Second) //nolint:noctx // bounded by its own time
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

// WaitFor asks until it is told yes, the time is over or the context ends.
func WaitFor(ctx context.Context, longest time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
