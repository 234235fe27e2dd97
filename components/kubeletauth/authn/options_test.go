// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func parse(t *testing.T, args ...string) Options {
	t.Helper()
	o := DefaultOptions()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFlags(t *testing.T) {
	defaults := Options{
		Revocation: crl.Options{Expired: "refuse"}, TokenWebhook: true, TokenTTL: 2 * time.Minute,
		TokenFailureTTL: 30 * time.Second,
		TokenAudiences:  []string{"bulkhead:kubelet"}, ClientReviews: Rate{2, 20}, Reviews: Rate{20, 100}, MaxInFlight: 20,
		MaxWaiting: 200,
	}
	if diff := cmp.Diff(defaults, parse(t)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	given := parse(t, "--client-ca-file=ca", "--anonymous-auth", "--client-crl=crl", "--client-crl-expired=allow",
		"--authentication-token-webhook=false",
		"--authentication-token-webhook-cache-ttl=1s", "--authentication-token-webhook-cache-failure-ttl=2s",
		"--authentication-token-audiences=a,b",
		"--authentication-token-review-client-qps=0.5", "--authentication-token-review-client-burst=3",
		"--authentication-token-review-qps=4",
		"--authentication-token-review-burst=5", "--authentication-token-review-max-in-flight=6",
		"--authentication-token-review-max-waiting=7")
	want := Options{"ca", true, crl.Options{CRL: []string{"crl"}, Expired: "allow"}, false, time.Second,
		2 * time.Second, []string{"a", "b"}, Rate{0.5, 3}, Rate{4, 5}, 6, 7}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("given (-want +got):\n%s", diff)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		name  string
		tweak func(*Config)
		want  string
	}{
		{"the defaults", func(*Config) {}, ""},
		{"no caches", func(c *Config) { c.TokenTTL, c.TokenFailureTTL, c.MaxWaiting = 0, 0, 0 }, ""},
		{"no authenticator", func(c *Config) { c.TokenWebhook = false },
			"no authentication method: no --client-ca-file, no --authentication-token-webhook, no --anonymous-auth"},
		{"lists without a CA", func(c *Config) { c.Revocation.CRL = []string{"x"} }, "--client-crl needs --client-ca-file"},
		{"a state without lists", func(c *Config) { c.Revocation.CRL, c.Revocation.State = nil, "x" },
			"--client-crl-state needs --client-crl"},
		{"no such word", func(c *Config) { c.Revocation.Expired = "x" }, `--client-crl-expired is "x", want refuse or allow`},
		{"no API server", func(c *Config) { c.Reviews = nil },
			"--authentication-token-webhook needs a client of the API server"},
		{"no audiences", func(c *Config) { c.TokenAudiences = nil },
			"rule KA-AUD-1 needs --authentication-token-audiences: without them every token is for the API server"},
		{"no audiences, and no rule", func(c *Config) { c.TokenAudiences, c.AudienceMode = nil, rules.Off }, ""},
		{"everything wrong", func(c *Config) {
			c.TokenTTL, c.TokenFailureTTL, c.TokenAudiences, c.MaxInFlight, c.MaxWaiting = -1, -1, []string{""}, 0, -1
			c.ClientReviews, c.Options.Reviews = Rate{}, Rate{math.NaN(), -1}
		}, `--authentication-token-webhook-cache-ttl is -1ns, want 0 or more
--authentication-token-webhook-cache-failure-ttl is -1ns, want 0 or more
--authentication-token-audiences is [""], want names
--authentication-token-review-client-qps is 0, want more than 0
--authentication-token-review-client-burst is 0, want at least 1
--authentication-token-review-qps is NaN, want more than 0
--authentication-token-review-burst is -1, want at least 1
--authentication-token-review-max-in-flight is 0, want at least 1
--authentication-token-review-max-waiting is -1, want 0 or more`},
	} {
		t.Run(row.name, func(t *testing.T) {
			config := Config{Options: DefaultOptions(), Reviews: newAPIServer(), AudienceMode: rules.Audit,
				Registry: metrics.NewKubeRegistry()}
			row.tweak(&config)
			got := ""
			if err := errors.Join(config.check()...); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := New(config); (err == nil) != (row.want == "") {
				t.Errorf("made: %v", err)
			}
		})
	}
}

func TestFilesThatCannotBeReadAreErrors(t *testing.T) {
	config := Config{Options: DefaultOptions(), Reviews: newAPIServer(), Registry: metrics.NewKubeRegistry()}
	config.ClientCAFile = t.TempDir() + "/none"
	if _, err := New(config); err == nil {
		t.Error("made without the client CA")
	}
}
