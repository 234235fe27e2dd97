// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// profiled is kubelet-auth-proxy with one file more, which is in no release of it.
const (
	profiled        = ours + "-profiled"
	profileVariable = "PROFILE_ADDRESS"
	profiling       = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
)

func init() { go http.ListenAndServe(os.Getenv("` + profileVariable + `"), nil) }
`
)

// StartProfiled builds and starts a kubelet-auth-proxy that tells profiles of itself. It
// is for saying where the time goes, not for measuring it.
func (w *World) StartProfiled(ctx context.Context, root string) (*Side, error) {
	if err := w.buildProfiled(ctx, root); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	side, err := w.startOurs(ctx, profiled, []string{profileVariable + "=" + address}, nil)
	if err == nil {
		side.profiles = child.Health("http://" + address)
	}
	return side, err
}

// buildProfiled builds it once.
func (w *World) buildProfiled(ctx context.Context, root string) error {
	built := filepath.Join(w.dir, profiled)
	if _, err := os.Stat(built); err == nil {
		return nil
	}
	file, overlay := filepath.Join(w.dir, "profiling.txt"), filepath.Join(w.dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "components/cmd/kubelet-auth-proxy/profiling.go"): file},
	})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{file: []byte(profiling), overlay: replace} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return child.Build(ctx, root, "-overlay="+overlay, "-o", built, "./components/cmd/kubelet-auth-proxy")
}

// HeapProfile says which functions allocated what is alive.
func (s *Side) HeapProfile(ctx context.Context, title string) (report.Profile, error) {
	return s.profile(ctx, title, "/debug/pprof/heap?gc=1", "inuse_space")
}

// profiledFor is below what [child.Health] waits for an answer.
const profiledFor = 2 * time.Second

// CPUProfile says which functions the time is spent in while the work is done, over
// and over.
func (s *Side) CPUProfile(ctx context.Context, title string, work func(context.Context) error) (report.Profile, error) {
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for working.Err() == nil {
			// Stopping cuts it off.
			if err := work(working); err != nil && working.Err() == nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	profile, err := s.profile(ctx, title, fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", profiledFor.Seconds()), "cpu")
	stop()
	if failed := <-ended; failed != nil {
		return profile, failed
	}
	return profile, err
}

func (s *Side) profile(ctx context.Context, title, path, sampleType string) (report.Profile, error) {
	var raw bytes.Buffer
	if err := s.profiles.Get(ctx, path, &raw); err != nil {
		return report.Profile{}, fmt.Errorf("profiling: %w", err)
	}
	text, err := report.TopOf(&raw, sampleType)
	return report.Profile{Title: title, Text: text}, err
}
