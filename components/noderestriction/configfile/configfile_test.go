// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const head = "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n"

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mounted writes a file in the layout that the kubelet uses for a ConfigMap.
func mounted(t *testing.T, dir, version, content string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, version, "policy.yaml"), content)
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(version, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// bound identifies a policy in these tests. 0 means no policy.
func bound(c *configuration.Configuration) int64 {
	if c == nil {
		return 0
	}
	return c.MaxTokenSeconds
}

func TestFollowsTheFile(t *testing.T) {
	const (
		first  = head + "maxTokenSeconds: 1000"
		second = head + "maxTokenSeconds: 2000"
	)
	for _, row := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   int64
		// good and bad are the numbers of valid and invalid loads. inForce is 1 if the file's
		// policy is in force.
		good, bad, inForce float64
	}{
		{"a file that stays is kept", func(*testing.T, string) {}, 1000, 1, 0, 1},
		{"it is written in place", func(t *testing.T, path string) { write(t, path, second) }, 2000, 2, 0, 1},
		{"another one is put in its place", func(t *testing.T, path string) {
			write(t, path+".new", second)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, 2000, 2, 0, 1},
		{"unknown field", func(t *testing.T, path string) { write(t, path, second+"\nx: 1") }, 1000, 1, 1, 0},
		{"empty file", func(t *testing.T, path string) { write(t, path, "") }, 1000, 1, 1, 0},
		{"half of it is there", func(t *testing.T, path string) { write(t, path, head[:60]) }, 1000, 1, 1, 0},
		{"it is too long", func(t *testing.T, path string) { write(t, path, second+strings.Repeat("#", 3<<20)) }, 1000, 1, 1,
			0},
		{"it is gone", func(t *testing.T, path string) { os.Remove(path) }, 1000, 1, 1, 0},
		{"it is a directory", func(t *testing.T, path string) {
			os.Remove(path)
			os.Mkdir(path, 0o700)
		}, 1000, 1, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "policy.yaml")
			write(t, path, first)
			registry := metrics.NewKubeRegistry()
			f, err := New(Config{Path: path, Registry: registry})
			if err != nil {
				t.Fatal(err)
			}
			row.change(t, path)
			for range 4 {
				f.reread(klog.Background())
			}
			if got := bound(f.Current()); got != row.want {
				t.Errorf("%d is in force, want %d", got, row.want)
			}
			expect(t, f, row.good, row.bad, row.inForce)
			again := filepath.Join(filepath.Dir(path), "again")
			write(t, again, first)
			os.RemoveAll(path)
			if err := os.Rename(again, path); err != nil {
				t.Fatal(err)
			}
			f.reread(klog.Background())
			f.reread(klog.Background())
			if got, err := testutil.GetGaugeMetricValue(f.recorder.current); got != 1 || err != nil ||
				bound(f.Current()) != 1000 {
				t.Errorf("the first one again: in force %v, %v, %d", got, err, bound(f.Current()))
			}
		})
	}
}

func expect(t *testing.T, f *File, good, bad, inForce float64) {
	t.Helper()
	for result, want := range map[string]float64{"good": good, "bad": bad} {
		if got, err := testutil.GetCounterMetricValue(f.recorder.loads.WithLabelValues(result)); got != want || err != nil {
			t.Errorf("%v %s loads (%v), want %v", got, result, err, want)
		}
	}
	if got, err := testutil.GetGaugeMetricValue(f.recorder.current); got != inForce || err != nil {
		t.Errorf("in force: %v (%v), want %v", got, err, inForce)
	}
}

func TestFollowsALinkThatIsTurned(t *testing.T) {
	dir := t.TempDir()
	mounted(t, dir, "..1", head+"maxTokenSeconds: 1000")
	path := filepath.Join(dir, "policy.yaml")
	if err := os.Symlink("..data/policy.yaml", path); err != nil {
		t.Fatal(err)
	}
	f, err := New(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	mounted(t, dir, "..2", head+"maxTokenSeconds: 2000")
	os.RemoveAll(filepath.Join(dir, "..1"))
	f.reread(klog.Background())
	f.reread(klog.Background())
	if got := bound(f.Current()); got != 2000 {
		t.Errorf("%d is in force", got)
	}
}

// TestPartialWriteIsNotApplied checks that half of a file is not applied, even if it is a valid policy.
func TestPartialWriteIsNotApplied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, head+"maxTokenSeconds: 1000")
	f, err := New(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, head)
	f.reread(klog.Background())
	if got := bound(f.Current()); got != 1000 {
		t.Errorf("%d is in force after the first half", got)
	}
	write(t, path, head+"maxTokenSeconds: 3000")
	f.reread(klog.Background())
	if got := bound(f.Current()); got != 1000 {
		t.Errorf("%d is in force as soon as it is seen", got)
	}
	f.reread(klog.Background())
	if got := bound(f.Current()); got != 3000 {
		t.Errorf("%d is in force in the end", got)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		write(t, path, head+"maxTokenSeconds: 1000")
		f, err := New(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Run(ctx)
		}()
		write(t, path, head+"maxTokenSeconds: 2000")
		time.Sleep(3 * rereadInterval)
		if got := bound(f.Current()); got != 2000 {
			t.Errorf("%d is in force", got)
		}
		cancel()
		<-done
	})
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	write(t, path, head+"x: 1")
	for _, row := range []struct{ name, path, says string }{
		{"invalid file", path, "configuration " + path + `: line 3: unknown field "x"`},
		{"a file that is not there", filepath.Join(dir, "none"), "reading the configuration: open "},
		{"a directory", dir, "reading the configuration: read "},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := New(Config{Path: row.path})
			if f != nil || err == nil || !strings.HasPrefix(err.Error(), row.says) {
				t.Errorf("got %v, want %s", err, row.says)
			}
		})
	}
	f, err := New(Config{})
	if err != nil || f.Current() != nil {
		t.Errorf("without a file: %v, %v", f.Current(), err)
	}
	f.Run(t.Context()) // returns immediately
}
