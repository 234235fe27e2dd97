// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

func TestPolicyFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, []byte("a: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, record string
		args         []string
		want         controlplane.Policy
		ok           bool
	}{
		{"a first run leaves it to the profile", "", nil, controlplane.Policy{}, true},
		{"a file is read", "", []string{"--node-restriction-config=" + file},
			controlplane.Policy{Own: true, File: []byte("a: b")},
			true},
		{"reinstall keeps the chosen policy", `{"policy": {"own": true}}`, nil, controlplane.Policy{Own: true}, true},
		{"an empty value goes back to the profile", `{"policy": {"own": true}}`, []string{"--node-restriction-config="},
			controlplane.Policy{Reset: true}, true},
		{"empty file is an explicit policy", "", []string{"--node-restriction-config=" + os.DevNull},
			controlplane.Policy{Own: true, File: []byte{}}, true},
		{"a file that is not there is an error", "", []string{"--node-restriction-config=/none"}, controlplane.Policy{},
			false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var common hostFlags
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			common.add(fs)
			value := fs.String(policyFlag, "", "")
			common.layout.State = t.TempDir()
			if tc.record != "" {
				writeRecord(t, common.layout.State, tc.record)
			}
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			record, err := common.lastRecord()
			if err != nil {
				t.Fatal(err)
			}
			got, err := nodePolicy(fs, *value, record)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != tc.ok {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
		})
	}
}
