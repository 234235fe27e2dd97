// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// enough are the required flags.
const enough = "--node-name=n --bind-addresses=192.0.2.1,2001:db8::1"

// parse returns the configuration with which the program would run.
func parse(args string) (*config, error) {
	return programtest.Parse(newCommand, strings.Fields(args)...)
}

func TestValidFlags(t *testing.T) {
	for _, tt := range []struct {
		name, args     string
		exec, audience rules.Mode
	}{
		{"strict enforces its rules and audits audiences", "", rules.Enforce, rules.Audit},
		{"one rule can be in audit, and leaves the others as they are", "--rule-mode=KA-EXEC-1=audit", rules.Audit,
			rules.Audit},
		{"audiences can be enforced", "--rule-mode=KA-AUD-1=enforce", rules.Enforce, rules.Enforce},
		{"compat has them off", "--mode=compat", rules.Off, rules.Off},
		{"compat can have one in audit", "--mode=compat --rule-mode=KA-EXEC-1=audit", rules.Audit, rules.Off},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got *config
			command := newCommand(func(_ context.Context, c *config) error {
				got = c
				return nil
			})
			command.SetArgs(strings.Fields(enough + " " + tt.args))
			if err := command.Execute(); err != nil {
				t.Fatal(err)
			}
			if exec, audience := got.policy.ModeOf(kubeletauth.RuleExec),
				got.policy.ModeOf(kubeletauth.RuleAudience); exec != tt.exec || audience != tt.audience {
				t.Errorf("KA-EXEC-1 is in %v and KA-AUD-1 in %v, want %v and %v", exec, audience, tt.exec, tt.audience)
			}
			if where := fmt.Sprint(got.addresses, got.kubelet); where != "[192.0.2.1 2001:db8::1]127.0.0.1:10250" {
				t.Errorf("listens on, and calls: %s", where)
			}
		})
	}
}

func TestInvalidFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--bind-addresses=192.0.2.1":                        "--node-name is empty",
		"--node-name=n":                                     "--bind-addresses is empty",
		"--node-name=n --bind-addresses=0.0.0.0":            `--bind-addresses is ["0.0.0.0"]`,
		"--node-name=n --bind-addresses=::":                 `--bind-addresses is ["::"]`,
		"--node-name=n --bind-addresses=node":               `--bind-addresses is ["node"]`,
		enough + " --kubelet-address=192.0.2.1:10250":       "want a loopback address",
		enough + " --kubelet-address=127.0.0.1":             "want a loopback address",
		enough + " --secure-port=0":                         "--secure-port is 0",
		enough + " --health-port=70000":                     "--health-port is 70000",
		enough + " --mode=loose":                            `--mode: invalid mode "loose"`,
		enough + " --rule-mode=KA-NONE-1=off":               `--rule-mode: there is no rule "KA-NONE-1"`,
		enough + " --rule-mode=KA-AUTH-1=off":               "KA-AUTH-1 is always enforced",
		enough + " --tls-min-version=VersionSSL":            "--tls-min-version",
		enough + " --tls-cipher-suites=NONE":                "--tls-cipher-suites",
		enough + " --tls-cert-file=":                        "--tls-cert-file is empty",
		enough + " --kubelet-client-key=":                   "--kubelet-client-key is empty",
		enough + " --max-header-bytes=1":                    "--max-header-bytes is 1",
		enough + " --max-connections=1":                     "limit on connections is 1 and on those of a user 2400",
		enough + " --max-new-connections=1":                 "limit on new connections is 1 and on those of an address 128",
		enough + " --new-connection-timeout=0":              "limit on the time that a connection is new is 0s",
		enough + " --header-timeout=0":                      "--header-timeout is 0s",
		enough + " --request-timeout=0":                     "--request-timeout is 0s",
		enough + " --drain-timeout=-1s":                     "--drain-timeout is -1s",
		enough + " --shutdown-timeout=0":                    "--shutdown-timeout is 0s",
		enough + " --max-streams-per-user=0":                "limit on streams of a user is 0",
		enough + " --streaming-connection-idle-timeout=0":   "limit on a stream's time without bytes is 0s",
		enough + " --authorization-mode=Maybe":              "--authorization-mode is",
		enough + " --client-crl-expired=maybe":              "--client-crl-expired is",
		enough + " --logging-format=xml":                    "logging:",
		enough + " argument":                                "unknown command",
		enough + " --secure-port=0 --header-timeout=0":      "--header-timeout is 0s",
		enough + " --health-port=0 --authorization-mode=No": "--health-port is 0",
		enough + " --audit-only":                            "--audit-only needs --mode=compat",

		enough + " --mode=compat --audit-only --rule-mode=KA-EXEC-1=enforce": "does not allow --rule-mode=KA-EXEC-1",
	} {
		t.Run(args, func(t *testing.T) {
			if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// With --audit-only, a limit is never lower than what a kubelet allows, or than the flag.
func TestAuditOnlyRaisesLimits(t *testing.T) {
	c, err := parse(enough + " --mode=compat --audit-only --max-connections=100000 --authorization-max-waiting=1")
	if err != nil {
		t.Fatal(err)
	}
	if c.maxHeaderBytes != 256<<10 || c.answerTimeout != 4*time.Hour || c.requestTimeout != 4*time.Hour ||
		c.connections.All != 100_000 || c.connections.PerUser != 100_000 || c.connections.New != 256 ||
		c.may.MaxWaiting != 1<<16 || c.who.MaxWaiting != 1<<16 {
		t.Errorf("limits %+v", *c)
	}
	if c, err = parse(enough + " --mode=compat"); err != nil || c.maxHeaderBytes != 32<<10 {
		t.Errorf("without --audit-only, headers have %d bytes (%v)", c.maxHeaderBytes, err)
	}
}

// Every flag has a description. A flag without a default has no value that would be right for every
// node.
func TestEveryFlagHasADescription(t *testing.T) {
	o := defaultOptions()
	sections := o.flags()
	empty := []string{"anonymous-auth", "audit-only", "bind-addresses", "client-crl", "client-crl-state", "kubeconfig",
		"node-name", "revoked-credentials", "rule-mode", "tls-cipher-suites", "wait-for-node-install"}
	flags := 0
	for name, section := range sections.FlagSets {
		if name == "logging" {
			continue // flags of Kubernetes
		}
		section.VisitAll(func(f *pflag.Flag) {
			flags++
			if len(f.Usage) < 15 || !strings.HasSuffix(f.Usage, ".") {
				t.Errorf("--%s has the help %q", f.Name, f.Usage)
			}
			none := slices.Contains([]string{"", "[]", "0", "0s", "false"}, f.DefValue)
			if none != slices.Contains(empty, f.Name) {
				t.Errorf("--%s has the default %q", f.Name, f.DefValue)
			}
		})
	}
	if flags < 40 {
		t.Errorf("%d flags", flags)
	}
	o.nodeName, o.addresses = "n", []string{"192.0.2.1"}
	if _, err := o.config(); err != nil {
		t.Errorf("the defaults are not in order: %v", err)
	}
}

// "Kubelet Authentication / Authorization" (design-proposals-archive) defines these flags and their
// values.
func TestTheFlagsOfTheProposal(t *testing.T) {
	for _, flag := range []string{
		"--client-ca-file=ca.crt", "--authentication-token-webhook=true", "--authentication-token-webhook-cache-ttl=1m",
		"--anonymous-auth=true",
		"--authorization-mode=Webhook", "--authorization-mode=AlwaysAllow",
		"--authorization-webhook-cache-authorized-ttl=1m", "--authorization-webhook-cache-unauthorized-ttl=1m",
	} {
		if _, err := parse(enough + " " + flag); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestHelpNamesTheKubeletsFlags(t *testing.T) {
	command := newCommand(nil)
	var help bytes.Buffer
	command.SetOut(&help)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"--client-ca-file", "--anonymous-auth", "--authentication-token-webhook", "--authentication-token-webhook-cache-ttl",
		"--authorization-mode",
		"--authorization-webhook-cache-authorized-ttl", "--authorization-webhook-cache-unauthorized-ttl", "--client-crl",
		"--rule-mode", "KA-EXEC-1=audit",
	} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
}

// No cached answer is older than a recheck. So a stream loses access no later than new requests do.
func TestTheRecheckIntervalIsBounded(t *testing.T) {
	const interval, access, token = " --stream-recheck-interval=", " --authorization-webhook-cache-authorized-ttl=",
		" --authentication-token-webhook-cache-ttl="
	for flags, want := range map[string]time.Duration{
		"":                              2 * time.Minute,
		interval + "1s":                 time.Second,
		interval + "1h" + access + "1m": time.Minute,
		interval + "1h" + token + "90s": 90 * time.Second,
		interval + "1h" + access + "0s" + token + "0s": time.Hour,
	} {
		c, err := parse(enough + flags)
		if err != nil || c.limits.StreamRecheck != want {
			t.Errorf("%q: %v, want %v (%v)", flags, c.limits.StreamRecheck, want, err)
		}
	}
}

// Without an audit log, no event can be written before a request is forwarded.
func TestTheRuleAboutTheAuditLogNeedsOne(t *testing.T) {
	for flags, want := range map[string]string{
		" --audit-log-path=":                              "rule KA-AUDIT-1 needs --audit-log-path",
		" --audit-log-path= --rule-mode=KA-AUDIT-1=audit": "rule KA-AUDIT-1 needs --audit-log-path",
		" --audit-log-path= --rule-mode=KA-AUDIT-1=off":   "",
		" --audit-log-path= --mode=compat":                "",
		" --audit-log-path=/var/log/audit.log":            "",
	} {
		_, err := parse(enough + flags)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", flags, err, want)
		}
	}
}
