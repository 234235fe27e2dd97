// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

const stolen = "JTI=11111111-2222-3333-4444-555555555555"

func TestIDsFollowTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "credential-ids")
		i := NewIDs(path, metrics.NewKubeRegistry())
		who := &user.DefaultInfo{Extra: map[string][]string{user.CredentialIDKey: {stolen}}}
		go i.Run(t.Context())
		step := func(name string, want bool, failed float64, change func() error) {
			t.Helper()
			if err := change(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(rereadInterval)
			synctest.Wait()
			if _, revoked := i.Set().Find(who); revoked != want {
				t.Errorf("%s: revoked %v, want %v", name, revoked, want)
			}
			if got, err := testutil.GetGaugeMetricValue(i.failed); err != nil || got != failed {
				t.Errorf("%s: failed %v (%v), want %v", name, got, err, failed)
			}
			if got, err := testutil.GetGaugeMetricValue(i.all); err != nil || got != float64(i.Set().Len()) {
				t.Errorf("%s: metric %v (%v), want %d", name, got, err, i.Set().Len())
			}
		}
		put := func(text string) func() error {
			return func() error { return os.WriteFile(path, []byte(text), 0o600) }
		}
		step("no file: nothing is revoked", false, 0, func() error { return nil })
		step("added", true, 0, put(stolen+" # by the operator\n"))
		step("a file with a mistake gives nothing back", true, 1, put("x"))
		step("a file that is too large gives nothing back", true, 1, put(strings.Repeat("\n", maxBytes+1)))
		step("repaired, without it", false, 0, put(""))
		step("added again", true, 0, put(stolen))
		step("no regular file: nothing is given back", true, 1, func() error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		})
		step("removed: nothing is revoked", false, 0, func() error { return os.Remove(path) })
	})
}

// The file with the IDs may be in the folder of the lists, as in the volume of the ConfigMap.
func TestIDFileIsNotReadAsCRL(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "credential-ids"), []byte(stolen))
	mustChecker(t, dir, Refuse)
}
