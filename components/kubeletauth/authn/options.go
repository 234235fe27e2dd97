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

// DefaultAudience is that of tokens for kubelets.
const DefaultAudience = "bulkhead:kubelet"

// Options are the flags about authentication, as given. Those that the kubelet has too
// have its names, and the defaults of its configuration file (kubelet.config.k8s.io/v1beta1).
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

// Rate is that of TokenReviews.
type Rate struct {
	// PerSecond are those that may be made in the long run, and Burst those at once.
	PerSecond float64
	Burst     int
}

// DefaultOptions accept tokens, and no certificates until there is a client CA.
func DefaultOptions() Options {
	return Options{
		Revocation:   crl.DefaultOptions(),
		TokenWebhook: true, TokenTTL: 2 * time.Minute, TokenFailureTTL: 30 * time.Second,
		TokenAudiences: []string{DefaultAudience},
		ClientReviews:  Rate{PerSecond: 2, Burst: 20}, Reviews: Rate{PerSecond: 20, Burst: 100},
		MaxInFlight: 20, MaxWaiting: 200,
	}
}

// AddFlags adds the flags, those of package crl among them.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"Who shows a certificate that one of these CAs signed is its common name, in the groups that are its "+
			"organizations. Without it, certificates are not looked at.")
	fs.BoolVar(&o.Anonymous, "anonymous-auth", o.Anonymous,
		"Requests without a rejected credential are those of system:anonymous. Leave it off.")
	o.Revocation.AddFlags(fs)
	fs.BoolVar(&o.TokenWebhook, "authentication-token-webhook", o.TokenWebhook,
		"Bearer tokens are shown to the API server by TokenReview. Without it, they are not looked at.")
	fs.DurationVar(&o.TokenTTL, "authentication-token-webhook-cache-ttl", o.TokenTTL,
		"How long a token stays good after it was withdrawn. 0 asks each time.")
	fs.DurationVar(&o.TokenFailureTTL, "authentication-token-webhook-cache-failure-ttl", o.TokenFailureTTL,
		"How long a token stays bad after it has become good. 0 asks each time.")
	fs.StringSliceVar(&o.TokenAudiences, "authentication-token-audiences", o.TokenAudiences,
		"Audiences of tokens for kubelets. Tokens for the API server only are good too, unless rule KA-AUD-1 is enforced.")
	fs.Float64Var(&o.ClientReviews.PerSecond, "authentication-token-review-client-qps", o.ClientReviews.PerSecond,
		"TokenReviews a second for one client address (IPv6: for its /64), of tokens that were never good before. With "+
			"more, it hears 429, and so do all who share the address. A token that was good before has the same rate for itself.")
	fs.IntVar(&o.ClientReviews.Burst, "authentication-token-review-client-burst", o.ClientReviews.Burst,
		"TokenReviews at once for one client address, or for one token that was good before.")
	fs.Float64Var(&o.Reviews.PerSecond, "authentication-token-review-qps", o.Reviews.PerSecond,
		"TokenReviews a second for all tokens that were never good before, and as many again for all that were. With more, "+
			"whose token it is hears 429.")
	fs.IntVar(&o.Reviews.Burst, "authentication-token-review-burst", o.Reviews.Burst,
		"TokenReviews at once for all, of each kind.")
	fs.IntVar(&o.MaxInFlight, "authentication-token-review-max-in-flight", o.MaxInFlight,
		"TokenReviews in the air at one time, and as many again of tokens that were good before. There is no other throttle.")
	fs.IntVar(&o.MaxWaiting, "authentication-token-review-max-waiting", o.MaxWaiting,
		"TokenReviews that wait for their turn, of each kind. With more, requests hear 429 at once.")
}

// Validate reports every problem, not only the first.
func (o *Options) Validate() []error {
	problems := o.Revocation.Validate()
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.ClientCAFile == "" && !o.TokenWebhook &&
		!o.Anonymous, "nobody could authenticate: no --client-ca-file, no --authentication-token-webhook, no --anonymous-auth")
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
