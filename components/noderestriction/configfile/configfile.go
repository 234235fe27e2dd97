// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package configfile reads the file with the operator's policy and reloads it when its content
// changes.
//
// The package reads the file every few seconds and compares its content. So the file can be written
// in place or replaced by a rename. It can also be a link that changes to another directory, as in
// a mounted ConfigMap. If the file cannot be read or is invalid, the last valid policy stays in
// force. A metric and the log report this.
package configfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// rereadInterval is the time between two reads of the file.
const rereadInterval = 2 * time.Second

// Config is the configuration of a [File].
type Config struct {
	// Path is the path of the file. If it is empty, there is no file and no policy.
	Path string
	// Registry receives the metrics. It may be nil.
	Registry metrics.KubeRegistry
}

// File is the policy of one file. Use [New]. Current is safe for concurrent use.
type File struct {
	path     string
	recorder *recorder
	current  atomic.Pointer[configuration.Configuration]
	// seen is the content that was read last. taken is the content that was parsed last, valid or
	// not. complaint is the last error, and empty after a valid load. Only one goroutine uses these
	// fields: first New's, then Run's.
	seen, taken []byte
	complaint   string
}

// New registers the metrics and reads the file once. With an empty path, it reads nothing. It
// returns an error if the file cannot be read or is invalid. There is no earlier valid policy at
// this point, and a start without the policy would allow what the policy denies.
func New(config Config) (*File, error) {
	f := &File{path: config.Path, recorder: newRecorder(config.Registry)}
	if f.path == "" {
		return f, nil
	}
	content, err := read(f.path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	policy, err := configuration.Parse(content)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", f.path, err)
	}
	f.seen, f.taken = content, content
	f.current.Store(policy)
	f.recorder.good()
	return f, nil
}

// Current returns the policy that is in force. It returns nil if there is no file. It is safe for
// concurrent use.
func (f *File) Current() *configuration.Configuration { return f.current.Load() }

// Run reloads the file when it changes, until ctx is done. Call it once.
func (f *File) Run(ctx context.Context) {
	if f.path == "" {
		return
	}
	ticker := time.NewTicker(rereadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.reread(klog.FromContext(ctx))
		}
	}
}

// reread applies the content of the file if it has changed and is the same in two reads. A file
// that is being written in place may already parse as a valid, but weaker policy.
func (f *File) reread(logger klog.Logger) {
	content, err := read(f.path)
	if err != nil {
		f.seen, f.taken = nil, nil
		f.complain(logger, err)
		return
	}
	settled := bytes.Equal(content, f.seen)
	f.seen = content
	if !settled || f.taken != nil && bytes.Equal(content, f.taken) {
		return
	}
	f.taken = content
	policy, err := configuration.Parse(content)
	if err != nil {
		f.complain(logger, err)
		return
	}
	f.complaint = ""
	f.current.Store(policy)
	f.recorder.good()
	logger.Info("Configuration changed", "file", f.path)
}

// complain logs and counts an error once, however long it persists.
func (f *File) complain(logger klog.Logger, err error) {
	if err.Error() == f.complaint {
		return
	}
	f.complaint = err.Error()
	f.recorder.bad()
	logger.Error(err, "Keeping the last good configuration", "file", f.path)
}

// read returns at most one byte more than a valid file can have, because the path may name an
// endless file.
func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, configuration.MaxBytes+1))
}
