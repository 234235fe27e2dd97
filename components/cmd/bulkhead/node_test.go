// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

func TestHowLongTheCertificateOfANodesProxyLives(t *testing.T) {
	chosen := pki.Policy{Validity: time.Hour, RenewBefore: 10 * time.Minute}
	for _, tc := range []struct {
		name     string
		recorded pki.Policy
		args     []string
		want     pki.Policy
	}{
		{"a first run: the default", pki.Policy{}, nil, nodeCertificates},
		{"reinstall keeps the chosen lifetime", chosen, nil, chosen},
		{"reinstall with a flag takes the flag's lifetime", chosen, []string{"--cert-validity=2h"},
			pki.Policy{Validity: 2 * time.Hour, RenewBefore: 10 * time.Minute}},
		{"record of an older version without a lifetime: default", controlPlaneCertificates, nil, nodeCertificates},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var (
				common nodeFlags
				policy pki.Policy
			)
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			common.add(fs)
			addCertificateFlags(fs, &policy, nodeCertificates)
			common.layout.State = t.TempDir()
			if tc.recorded.Validity > 0 {
				data, err := json.Marshal(node.Record{Certificates: tc.recorded})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(common.layout.Node(), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(common.layout.Node(), "record.json"), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if got, err := common.certificatePolicy(fs, policy); err != nil || got != tc.want {
				t.Errorf("%v, want %v (%v)", got, tc.want, err)
			}
		})
	}
}
