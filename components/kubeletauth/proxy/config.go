// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Answer is the decision of an authorizer.
type Answer struct {
	Allowed, Cached bool
	// Reason is the authorizer's, for the audit log only.
	Reason string
}

// Authenticator authenticates a request. It returns the findings of rules in audit mode too.
// Without a response and an error, the request has no user.
type Authenticator interface {
	Authenticate(req *http.Request) (*authenticator.Response, []rules.Finding, error)
}

// Config is the configuration of a [Handler]. Fields are required unless they say otherwise.
type Config struct {
	// NodeName is the name of the kubelet's Node.
	NodeName string
	// Map returns the rights that a request requires ([kubeletauth.Policy.Map]).
	Map func(kubeletauth.Request) (enforced, audited kubeletauth.Mapping, denied *rules.Decision)
	// Authenticator gets a copy of the request, which it may change. While a stream lasts, it
	// gets the request again.
	Authenticator Authenticator
	// Authorize decides about one right. An error is no decision.
	Authorize func(context.Context, authorizer.Attributes) (Answer, error)
	// Unsure, if not nil, reports whether an error of Authenticator says nothing about the
	// credential, because the API server cannot be reached. A stream survives it for a while;
	// a new request does not.
	Unsure func(error) bool

	// Kubelet is the kubelet's address, as host:port.
	Kubelet string
	// Transport calls the kubelet with HTTP/1.1. It must not follow redirects or use a proxy
	// of the environment. [Upstream] is one.
	Transport http.RoundTripper

	Limits Limits
	// ModeOf is the mode of the optional rules of this package, KA-AUDIT-1 and KA-LIMIT-2.
	// Where it is nil, these are off.
	ModeOf   func(rules.ID) rules.Mode
	Audit    *Audit
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	Logger   klog.Logger
}

// Limits bound what one client, and all clients together, can use.
type Limits struct {
	// Authenticating bounds the requests of one address (of IPv6, of one /64) that are being
	// authenticated at a time.
	Authenticating int
	// Requests bounds the requests of one user that are in flight at a time, without streams,
	// and those that are being authorized. AllRequests bounds those of all users in flight.
	Requests, AllRequests int
	// Streams bounds the streams of one user; AllStreams those of all users.
	Streams, AllStreams int
	// StreamIdle is how long a stream may be idle.
	StreamIdle time.Duration
	// StreamRecheck is the interval of the rechecks of a stream. The first comes after 10 s,
	// if that is sooner.
	StreamRecheck time.Duration
}

// ConnectionLimits bound the connections that are open at a time. A connection is new until
// a request over it is allowed.
type ConnectionLimits struct {
	// All bounds the connections that are not new. PerUser bounds those of one user: the one
	// whose request was allowed first.
	All, PerUser int
	// New bounds the new connections, and NewPerAddress those of one address (of IPv6, of one
	// /64). They use no slot of the others.
	New, NewPerAddress int
	// NewTimeout is how long a connection may be new.
	NewTimeout time.Duration
}

// DefaultConnectionLimits leave a user room for all streams and requests that
// [DefaultLimits] allow.
func DefaultConnectionLimits() ConnectionLimits {
	return ConnectionLimits{All: 8192, PerUser: 2400, New: 256, NewPerAddress: 128, NewTimeout: 30 * time.Second}
}

// Validate reports every problem.
func (l ConnectionLimits) Validate() error {
	var problems []error
	if l.PerUser < 1 || l.All < l.PerUser {
		problems = append(problems,
			fmt.Errorf("limit on connections is %d and on those of a user %d, want at least 1, and not more for one user than "+
				"for all", l.All, l.PerUser))
	}
	if l.NewPerAddress < 1 || l.New < l.NewPerAddress {
		problems = append(problems,
			fmt.Errorf("limit on new connections is %d and on those of an address %d, want at least 1, and not more for one "+
				"address than for all", l.New, l.NewPerAddress))
	}
	if l.NewTimeout <= 0 {
		problems = append(problems,
			fmt.Errorf("limit on the time that a connection is new is %v, want more than 0", l.NewTimeout))
	}
	return errors.Join(problems...)
}

// DefaultLimits are those of a node with a few hundred pods.
func DefaultLimits() Limits {
	return Limits{
		Authenticating: 64,
		Requests:       200, AllRequests: 1000,
		Streams: 2000, AllStreams: 4000,
		// The kubelet's own streamingConnectionIdleTimeout.
		StreamIdle:    4 * time.Hour,
		StreamRecheck: 5 * time.Minute,
	}
}

// Validate reports every problem.
func (l Limits) Validate() error {
	var problems []error
	for name, n := range map[string]int{
		"requests being authenticated": l.Authenticating, "requests of a user": l.Requests, "requests": l.AllRequests,
		"streams of a user": l.Streams, "streams": l.AllStreams,
	} {
		if n < 1 {
			problems = append(problems, fmt.Errorf("limit on %s is %d, want at least 1", name, n))
		}
	}
	for name, d := range map[string]time.Duration{"time without bytes": l.StreamIdle,
		"time between checks": l.StreamRecheck} {
		if d <= 0 {
			problems = append(problems, fmt.Errorf("limit on a stream's %s is %v, want more than 0", name, d))
		}
	}
	return errors.Join(problems...)
}
