// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// IDs reloads the file with the revoked credential IDs when it changes. It is safe for concurrent
// use. A nil *IDs revokes nothing.
type IDs struct {
	path        string
	current     atomic.Pointer[revocationlist.Set]
	failed, all *metrics.Gauge
}

// NewIDs reads the file. If the file is unreadable or invalid, [IDs.Run] and the metrics report
// that.
func NewIDs(path string, registry metrics.KubeRegistry) *IDs {
	i := &IDs{
		path: path,
		failed: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_kubelet_revocation_list_failed",
			Help: "1 if the list of revoked credentials could not be read, or not all of it. Every credential that was " +
				"revoked stays revoked then.",
		}),
		all: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_kubelet_revoked_credentials",
			Help: "Credentials that are revoked by their ID.",
		}),
	}
	registry.MustRegister(i.failed, i.all)
	_ = i.RunOnce() // Run reports the error
	return i
}

// Set returns the credentials that are revoked now.
func (i *IDs) Set() *revocationlist.Set {
	if i == nil {
		return nil
	}
	return i.current.Load()
}

// Run reloads the file until ctx is done.
func (i *IDs) Run(ctx context.Context) {
	ticker := time.NewTicker(rereadInterval)
	defer ticker.Stop()
	var last error
	for {
		err := i.RunOnce()
		complain(ctx, err, last,
			"Cannot read all of the list of revoked credentials. Every credential that was revoked stays revoked")
		last = err
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// RunOnce reads the file now.
func (i *IDs) RunOnce() error {
	text, err := readFile(i.path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err == nil {
		var next *revocationlist.Set
		next, err = revocationlist.Update(i.current.Load(), string(text))
		i.current.Store(next)
	}
	i.failed.Set(0)
	if err != nil {
		i.failed.Set(1)
	}
	i.all.Set(float64(i.Set().Len()))
	return err
}
