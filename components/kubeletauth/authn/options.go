// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
)

// DefaultAudience is the audience of tokens for kubelets.
const DefaultAudience = "bulkhead:kubelet"

// Options contains the values of the authentication flags. Flags that the kubelet also has use its
// names, and the defaults of its configuration file (kubelet.config.k8s.io/v1beta1).
type Options struct {
	ClientCAFile string
	Anonymous    bool
	Revocation   crl.Options

	TokenWebhook              bool
	TokenTTL, TokenFailureTTL time.Duration
	TokenAudiences            []string
	ClientReviews, Reviews    Rate
	MaxInFlight, MaxWaiting   int
}

// Rate is a rate limit for TokenReviews.
type Rate struct {
	// PerSecond is the average rate, Burst the number of reviews at once.
	PerSecond float64
	Burst     int
}

// DefaultOptions accept tokens. They accept certificates only after a client CA is configured.
func DefaultOptions() Options {
	return Options{
		Revocation:   crl.DefaultOptions(),
		TokenWebhook: true, TokenTTL: 2 * time.Minute, TokenFailureTTL: 30 * time.Second,
		TokenAudiences: []string{DefaultAudience},
		ClientReviews:  Rate{PerSecond: 2, Burst: 20}, Reviews: Rate{PerSecond: 20, Burst: 100},
		MaxInFlight: 20, MaxWaiting: 200,
	}
}

// AddFlags adds the flags of this package and those of package crl.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"CAs of client certificates. The common name is the user, the organizations are the groups. Without it, "+
			"client certificates are ignored.")
	fs.BoolVar(&o.Anonymous, "anonymous-auth", o.Anonymous,
		"Authenticate requests without credentials as system:anonymous. Requests with invalid credentials are always "+
			"denied. Do not set this flag.")
	o.Revocation.AddFlags(fs)
	fs.BoolVar(&o.TokenWebhook, "authentication-token-webhook", o.TokenWebhook,
		"Authenticate bearer tokens by TokenReview. Without it, they are ignored.")
	fs.DurationVar(&o.TokenTTL, "authentication-token-webhook-cache-ttl", o.TokenTTL,
		"How long a valid token is cached. With 0, each request needs a TokenReview.")
	fs.DurationVar(&o.TokenFailureTTL, "authentication-token-webhook-cache-failure-ttl", o.TokenFailureTTL,
		"How long an invalid token is cached. With 0, each request needs a TokenReview.")
	fs.StringSliceVar(&o.TokenAudiences, "authentication-token-audiences", o.TokenAudiences,
		"Audiences of tokens for kubelets. Tokens for the API server only are valid too, unless rule KA-AUD-1 is enforced.")
	fs.Float64Var(&o.ClientReviews.PerSecond, "authentication-token-review-client-qps", o.ClientReviews.PerSecond,
		"Maximum TokenReviews a second for one client address (IPv6: for its /64), for tokens that were never valid "+
			"before. Further requests get the status 429, also those of other clients at the address. Tokens of one "+
			"user that were valid before have a separate limit with this value.")
	fs.IntVar(&o.ClientReviews.Burst, "authentication-token-review-client-burst", o.ClientReviews.Burst,
		"Burst of TokenReviews for one client address, or for tokens of one user that were valid before.")
	fs.Float64Var(&o.Reviews.PerSecond, "authentication-token-review-qps", o.Reviews.PerSecond,
		"Maximum TokenReviews a second for all tokens that were never valid before. Tokens that were valid before have a "+
			"separate limit with this value. Further requests get the status 429.")
	fs.IntVar(&o.Reviews.Burst, "authentication-token-review-burst", o.Reviews.Burst,
		"Burst of TokenReviews for all tokens that were never valid before, and for all that were.")
	fs.IntVar(&o.MaxInFlight, "authentication-token-review-max-in-flight", o.MaxInFlight,
		"Maximum TokenReviews in flight for tokens that were never valid before. Tokens that were valid before have a "+
			"separate limit with this value.")
	fs.IntVar(&o.MaxWaiting, "authentication-token-review-max-waiting", o.MaxWaiting,
		"Maximum TokenReviews that wait while --authentication-token-review-max-in-flight is reached, for each of both "+
			"kinds of tokens. A further request gets the status 429 immediately.")
}

// Validate returns all errors, not only the first.
func (o *Options) Validate() []error {
	problems := o.Revocation.Validate()
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.ClientCAFile == "" && !o.TokenWebhook &&
		!o.Anonymous, "no authentication method: no --client-ca-file, no --authentication-token-webhook, no --anonymous-auth")
	report(o.ClientCAFile == "" && len(o.Revocation.CRL) > 0, "--client-crl needs --client-ca-file")
	report(o.TokenTTL < 0, "--authentication-token-webhook-cache-ttl is %v, want 0 or more", o.TokenTTL)
	report(o.TokenFailureTTL < 0, "--authentication-token-webhook-cache-failure-ttl is %v, want 0 or more",
		o.TokenFailureTTL)
	report(slices.Contains(o.TokenAudiences, ""), "--authentication-token-audiences is %q, want names", o.TokenAudiences)
	for _, limit := range []struct {
		flag string
		Rate
	}{{"client-", o.ClientReviews}, {"", o.Reviews}} {
		report(!(limit.PerSecond > 0), "--authentication-token-review-%sqps is %v, want more than 0", limit.flag,
			limit.PerSecond)
		report(limit.Burst < 1, "--authentication-token-review-%sburst is %d, want at least 1", limit.flag, limit.Burst)
	}
	report(o.MaxInFlight < 1, "--authentication-token-review-max-in-flight is %d, want at least 1", o.MaxInFlight)
	report(o.MaxWaiting < 0, "--authentication-token-review-max-waiting is %d, want 0 or more", o.MaxWaiting)
	return problems
}
