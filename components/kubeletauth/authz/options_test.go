// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
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
	defaults := Options{Mode: "Webhook", AuthorizedTTL: 5 * time.Minute, UnauthorizedTTL: 30 * time.Second,
		MaxInFlight: 50, MaxWaiting: 500}
	if diff := cmp.Diff(defaults, parse(t)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	given := parse(t, "--authorization-mode=AlwaysAllow", "--authorization-webhook-cache-authorized-ttl=1s",
		"--authorization-webhook-cache-unauthorized-ttl=2s",
		"--authorization-max-in-flight=3", "--authorization-max-waiting=4")
	if diff := cmp.Diff(Options{"AlwaysAllow", time.Second, 2 * time.Second, 3, 4}, given); diff != "" {
		t.Errorf("given (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		name  string
		tweak func(*Options)
		want  string
	}{
		{"the defaults", func(*Options) {}, ""},
		{"no caches", func(o *Options) { o.AuthorizedTTL, o.UnauthorizedTTL, o.MaxWaiting = 0, 0, 0 }, ""},
		{"AlwaysAllow by its name", func(o *Options) { o.Mode = "AlwaysAllow" }, ""},
		{"no mode", func(o *Options) { o.Mode = "" }, `--authorization-mode is "", want Webhook or AlwaysAllow`},
		{"a mode in another case", func(o *Options) { o.Mode = "alwaysallow" },
			`--authorization-mode is "alwaysallow", want Webhook or AlwaysAllow`},
		{"everything wrong", func(o *Options) { *o = Options{"x", -1, -1, 0, -1} },
			`--authorization-mode is "x", want Webhook or AlwaysAllow
--authorization-webhook-cache-authorized-ttl is -1ns, want 0 or more
--authorization-webhook-cache-unauthorized-ttl is -1ns, want 0 or more
--authorization-max-in-flight is 0, want at least 1
--authorization-max-waiting is -1, want 0 or more`},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := DefaultOptions()
			row.tweak(&o)
			got := ""
			if err := errors.Join(o.Validate()...); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := New(Config{Options: o}); err == nil && row.want != "" {
				t.Error("made in spite of it")
			}
		})
	}
}
