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
	// Reason is the authorizer's reason. It is only for the audit log.
	Reason string
}

// Authenticator authenticates a request. It also returns the findings of rules in audit mode. If
// response and error are both nil, the request has no user.
type Authenticator interface {
	Authenticate(req *http.Request) (*authenticator.Response, []rules.Finding, error)
}

// Config is the configuration of a [Handler]. Fields are required unless they say otherwise.
type Config struct {
	// NodeName is the name of the kubelet's Node.
	NodeName string
	// Map returns the rights that a request requires ([kubeletauth.Policy.Map]).
	Map func(kubeletauth.Request) (enforced, audited kubeletauth.Mapping, denied *rules.Decision)
	// Authenticator gets a copy of the request, which it may change. For each recheck of a stream,
	// it gets another copy.
	Authenticator Authenticator
	// Authorize decides on one right. An error means that there is no decision.
	Authorize func(context.Context, authorizer.Attributes) (Answer, error)
	// Unsure, if not nil, reports whether an error of Authenticator says nothing about the
	// credential, because the API server cannot be reached. Then an open stream continues for a
	// while, and a new request is denied.
	Unsure func(error) bool

	// Kubelet is the kubelet's address, as host:port.
	Kubelet string
	// Transport calls the kubelet with HTTP/1.1. It must not follow redirects, and must not use a
	// proxy from the environment. [Upstream] meets these conditions.
	Transport http.RoundTripper

	// Components are the addresses, as host:port on loopback, where components of Bulkhead serve
	// their metrics, by the name of the component. Not all of them run on each node.
	Components map[string]string

	Limits Limits
	// AuditOnly is true if denials by KA-LIMIT-1, KA-PATH-1 to 4 and KA-STREAM-1 become findings, because
	// the kubelet does not have these rules. Connections stay limited. Streams still end when their
	// credential is revoked.
	AuditOnly bool
	// ModeOf returns the mode of the optional rules of this package, KA-AUDIT-1 and KA-LIMIT-2. If
	// ModeOf is nil, these rules are off.
	ModeOf   func(rules.ID) rules.Mode
	Audit    *Audit
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	Logger   klog.Logger
}

// Limits bound what one client, and all clients together, can use.
type Limits struct {
	// Authenticating bounds the requests of one address (for IPv6, of one /64) that are being
	// authenticated at one time.
	Authenticating int
	// Requests bounds the requests of one user that are in flight at one time, without streams. It
	// also bounds those that are being authorized. AllRequests bounds the requests of all users in
	// flight.
	Requests, AllRequests int
	// Streams bounds the streams of one user. AllStreams bounds those of all users.
	Streams, AllStreams int
	// StreamIdle is how long a stream may be idle.
	StreamIdle time.Duration
	// StreamRecheck is the interval of the rechecks of a stream. The first recheck comes after 10 s
	// at the latest.
	StreamRecheck time.Duration
}

// ConnectionLimits bound the open connections. A connection is new until a request over it is
// allowed.
type ConnectionLimits struct {
	// All bounds the connections that are not new. PerUser bounds those of one user. A connection
	// belongs to the user of its first allowed request.
	All, PerUser int
	// New bounds the new connections. NewPerAddress bounds those of one address (for IPv6, of one
	// /64). New connections do not use slots of the others.
	New, NewPerAddress int
	// NewTimeout is how long a connection may stay new.
	NewTimeout time.Duration
}

// DefaultConnectionLimits allow a user all streams and requests that [DefaultLimits] allow.
func DefaultConnectionLimits() ConnectionLimits {
	return ConnectionLimits{All: 8192, PerUser: 2400, New: 256, NewPerAddress: 128, NewTimeout: 30 * time.Second}
}

// Validate returns all errors, not only the first.
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

// DefaultLimits are for a node with a few hundred pods.
func DefaultLimits() Limits {
	return Limits{
		Authenticating: 64,
		Requests:       200, AllRequests: 1000,
		Streams: 2000, AllStreams: 4000,
		// The default of the kubelet's streamingConnectionIdleTimeout.
		StreamIdle:    4 * time.Hour,
		StreamRecheck: 5 * time.Minute,
	}
}

// Validate returns all errors, not only the first.
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
