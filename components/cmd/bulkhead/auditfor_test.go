// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

// TestPlanOfAnAudit: the default is recorded as 0, so that hosts with and without it are the same.
func TestPlanOfAnAudit(t *testing.T) {
	recorded := t.TempDir()
	record := `{"profile": "hardened", "version": "v1", "beyondUpstream": {"auditFor": 172800000000000}}`
	file := host.Layout{State: recorded}.Record()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(record), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, state string
		args        []string
		want        time.Duration
	}{
		{"no flag", t.TempDir(), nil, 0},
		{"flag", t.TempDir(), []string{"--audit-for=48h"}, 48 * time.Hour},
		{"flag with the default", t.TempDir(), []string{"--audit-for=168h"}, 0},
		{"no flag: the value of the last install", recorded, nil, 48 * time.Hour},
		{"flag with the default, after another value", recorded, []string{"--audit-for=168h"}, 0},
		{"field", t.TempDir(), []string{"--config=" + writeConfig(t, "auditFor: 72h\n")}, 72 * time.Hour},
		{"file without the field: the default", recorded, []string{"--config=" + writeConfig(t, "mode: audit\n")}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, _, err := resolve(t, tc.state, tc.args...)
			if err != nil || o.Extensions.AuditFor != tc.want {
				t.Errorf("%v, error %v, want %v", o.Extensions.AuditFor, err, tc.want)
			}
		})
	}
	for _, args := range [][]string{{"--audit-for=0s"}, {"--config=" + writeConfig(t, "auditFor: -1h\n")}} {
		if _, _, err := resolve(t, t.TempDir(), args...); err == nil || !strings.Contains(err.Error(), "more than 0") {
			t.Errorf("%v: error %v", args, err)
		}
	}
}
