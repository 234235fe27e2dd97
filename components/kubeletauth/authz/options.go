// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// The modes of authorization, with the kubelet's names.
const (
	ModeWebhook     = "Webhook"
	ModeAlwaysAllow = "AlwaysAllow"
)

// Options contains the values of the authorization flags. Flags that the kubelet also has use its
// names, and the defaults of its configuration file (kubelet.config.k8s.io/v1beta1).
type Options struct {
	Mode                           string
	AuthorizedTTL, UnauthorizedTTL time.Duration
	MaxInFlight, MaxWaiting        int
}

// DefaultOptions use the API server for authorization.
func DefaultOptions() Options {
	return Options{
		Mode: ModeWebhook, AuthorizedTTL: 5 * time.Minute, UnauthorizedTTL: 30 * time.Second,
		MaxInFlight: 50, MaxWaiting: 500,
	}
}

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Mode, "authorization-mode", o.Mode,
		"Webhook makes SubjectAccessReviews at the API server. AlwaysAllow allows every authenticated user every request "+
			"to this node, also exec into any pod.")
	fs.DurationVar(&o.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", o.AuthorizedTTL,
		"How long an allowed request is cached. With 0, each request needs a SubjectAccessReview.")
	fs.DurationVar(&o.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", o.UnauthorizedTTL,
		"How long a denied request is cached. With 0, each request needs a SubjectAccessReview.")
	fs.IntVar(&o.MaxInFlight, "authorization-max-in-flight", o.MaxInFlight,
		"Maximum SubjectAccessReviews in flight. Their rate has no limit.")
	fs.IntVar(&o.MaxWaiting, "authorization-max-waiting", o.MaxWaiting,
		"Maximum SubjectAccessReviews that wait while --authorization-max-in-flight is reached. A further request fails "+
			"immediately.")
}

// Validate returns all errors, not only the first.
func (o *Options) Validate() []error {
	var problems []error
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.Mode != ModeWebhook &&
		o.Mode != ModeAlwaysAllow, "--authorization-mode is %q, want %s or %s", o.Mode, ModeWebhook, ModeAlwaysAllow)
	report(o.AuthorizedTTL < 0, "--authorization-webhook-cache-authorized-ttl is %v, want 0 or more", o.AuthorizedTTL)
	report(o.UnauthorizedTTL < 0, "--authorization-webhook-cache-unauthorized-ttl is %v, want 0 or more",
		o.UnauthorizedTTL)
	report(o.MaxInFlight < 1, "--authorization-max-in-flight is %d, want at least 1", o.MaxInFlight)
	report(o.MaxWaiting < 0, "--authorization-max-waiting is %d, want 0 or more", o.MaxWaiting)
	return problems
}
