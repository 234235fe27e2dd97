// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package configfile follows the file with the operator's policy.
//
// The file is looked at every few seconds, and what counts is what it says: it may be
// written in place, replaced by renaming, or be a link that is turned to another
// directory, as Kubernetes does with mounted ConfigMaps. A file that cannot be
// read, or is no good, leaves the last good policy in force, and is told of by a
// metric and the log.
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

// rereadInterval is how often the file is looked at.
const rereadInterval = 2 * time.Second

// Config says which file it is.
type Config struct {
	// Path is that of the file. If it is empty there is none, and no policy.
	Path string
	// Registry gets the metrics. It may be nil.
	Registry metrics.KubeRegistry
}

// File follows one file. Use [New].
type File struct {
	path     string
	recorder *recorder
	current  atomic.Pointer[configuration.Configuration]
	// seen is what was read last, taken what was last decided upon, good or bad, and
	// complaint what was wrong with it. All are those of one goroutine: New's, then
	// Run's.
	seen, taken []byte
	complaint   string
}

// New reads the file once. There is no last good policy yet, so a file that is no
// good is an error: to begin without a policy would be to open what it closes.
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

// Current returns the policy that is in force; nil if there is no file.
func (f *File) Current() *configuration.Configuration { return f.current.Load() }

// Run follows the file until ctx is done.
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

// reread takes what the file says now, if it says something else than before and
// has said so twice. Half of a file that is being written in place can be a good
// policy, and a weaker one.
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

// complain says once what is wrong, however long it stays so.
func (f *File) complain(logger klog.Logger, err error) {
	if err.Error() == f.complaint {
		return
	}
	f.complaint = err.Error()
	f.recorder.bad()
	logger.Error(err, "Keeping the last good configuration", "file", f.path)
}

// read takes a little more than a good file can have, and no more: what it is told
// to read may be endless.
func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, configuration.MaxBytes+1))
}
