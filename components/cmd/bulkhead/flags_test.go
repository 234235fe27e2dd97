// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

const longRecord = `{"image": "example.test/b:1", "version": "v1",
	"certificates": {"validity": 600000000000, "renewBefore": 420000000000}}`

func TestReinstallKeepsUnsetFlags(t *testing.T) {
	month := 30 * 24 * time.Hour
	for _, tc := range []struct {
		name, record string
		args         []string
		image        string
		policy       pki.Policy
	}{
		{"a first run takes the defaults", "", nil, "ghcr.io/bulkhead-k8s/bulkhead:v2",
			pki.Policy{Validity: 3 * month, RenewBefore: month}},
		{"reinstall keeps the chosen values", longRecord, nil, "example.test/b:1",
			pki.Policy{Validity: 10 * time.Minute, RenewBefore: 7 * time.Minute}},
		{"flag changes only its own value", longRecord, []string{"--image=other:2", "--cert-validity=1h"}, "other:2",
			pki.Policy{Validity: time.Hour, RenewBefore: 7 * time.Minute}},
		{"default image follows the version",
			`{"image": "ghcr.io/bulkhead-k8s/bulkhead:v1", "version": "v1",
				"certificates": {"validity": 7200000000000, "renewBefore": 3600000000000}}`,
			nil, "ghcr.io/bulkhead-k8s/bulkhead:v2", pki.Policy{Validity: 2 * time.Hour, RenewBefore: time.Hour}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var (
				common hostFlags
				policy pki.Policy
			)
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			common.add(fs)
			addCertificateFlags(fs, &policy, controlPlaneCertificates)
			value := fs.String("image", defaultImage("v2"), "")
			common.layout.State = stateOf(t, tc.record)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			record, err := common.lastRecord()
			if image := chosenImage(fs, *value, record); image != tc.image {
				t.Errorf("image %s, want %s", image, tc.image)
			}
			if diff := cmp.Diff(tc.policy, certificatePolicy(fs, policy, record)); diff != "" || err != nil {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
		})
	}
}

func writeRecord(t *testing.T, state, record string) {
	t.Helper()
	dir := filepath.Join(state, "state")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "record.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFailurePolicyAndUnknownResources(t *testing.T) {
	for _, tc := range []struct {
		name, record string
		args         []string
		ignore, deny bool
		fails        string
	}{
		{name: "first run: the defaults"},
		{name: "later run without the flags: as before", record: recordOfEverything, ignore: true, deny: true},
		{name: "failure policy Ignore", args: []string{"--node-restriction-failure-policy=Ignore"}, ignore: true},
		{name: "failure policy Fail, only that", record: recordOfEverything,
			args: []string{"--node-restriction-failure-policy=Fail"}, deny: true},
		{name: "failure policy in lower case", args: []string{"--node-restriction-failure-policy=ignore"},
			fails: `--node-restriction-failure-policy is "ignore", want Fail or Ignore`},
		{name: "empty failure policy", args: []string{"--node-restriction-failure-policy="},
			fails: `--node-restriction-failure-policy is "", want Fail or Ignore`},
		{name: "unknown resources denied", args: []string{"--unknown-resources=deny"}, deny: true},
		{name: "unknown resources as in a first run", record: recordOfEverything,
			args: []string{"--unknown-resources=audit-on-newer-kubernetes"}, ignore: true},
		{name: "unknown resources allowed", args: []string{"--unknown-resources=allow"},
			fails: `--unknown-resources is "allow", want deny or audit-on-newer-kubernetes`},
		{name: "file without the fields: the defaults", record: recordOfEverything,
			args: []string{"--config=" + writeConfig(t, "profile: hardened\n")}},
		{name: "file with the fields", args: []string{"--config=" + writeConfig(t,
			"nodeRestriction: {failurePolicy: Ignore}\nrules: {unknownResources: deny}\n")}, ignore: true, deny: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := resolveWith(t, tc.record, tc.args, tc.fails)
			if ok && (got.Extensions.IgnoreFailures != tc.ignore || got.Extensions.DenyUnknown != tc.deny) {
				t.Errorf("got %+v", got.Extensions)
			}
		})
	}
}
