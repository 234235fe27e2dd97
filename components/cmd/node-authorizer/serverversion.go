// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/supported"
)

// The values of --unknown-resources.
const (
	denyUnknown  = "deny"
	auditOnNewer = "audit-on-newer-kubernetes"
)

const (
	// versionInterval is short, because an upgrade of Kubernetes restarts the API server, but not
	// this program. Afterwards come the first kubelets of the new version.
	versionInterval = time.Minute
	// versionRetry is the time after a failed read.
	versionRetry = 5 * time.Second
	// versionTimeout limits one read: a server that hangs must not end the reads.
	versionTimeout = 10 * time.Second
)

// serverVersion reports whether the API server has a newer minor version than the rules. It reads the
// version again and again, because the API server can be upgraded at any time. While the version
// cannot be read, it counts as known, so that node-authorizer denies. It is safe for concurrent use.
type serverVersion struct {
	client kubernetes.Interface
	newer  atomic.Bool
	// last is the last version, and failed is true if the last read failed. Only run uses them.
	last   string
	failed bool
}

// isNewer is the function for the authorizer's field NewerServer.
func (v *serverVersion) isNewer() bool { return v.newer.Load() }

// run reads the version until ctx is done.
func (v *serverVersion) run(ctx context.Context) {
	for {
		timer := time.NewTimer(v.update(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// update reads the version once. It returns the time until the next read.
func (v *serverVersion) update(ctx context.Context) time.Duration {
	version, newer, err := v.read(ctx)
	v.newer.Store(newer)
	logger := klog.FromContext(ctx)
	if err != nil {
		if !v.failed {
			logger.Error(err, "Cannot read the version of kube-apiserver, will retry. Requests of nodes for resources "+
				"without a rule are denied")
		}
		v.failed = true
		return versionRetry
	}
	if newer && (v.failed || version != v.last) {
		logger.Info("This Kubernetes is newer than node-authorizer supports. Requests of nodes for resources without a "+
			"rule are reported, and the next authorizers decide. Upgrade Bulkhead", "version", version,
			"tested", supported.TestedText())
	}
	v.last, v.failed = version, false
	return versionInterval
}

// read returns newer only without an error.
func (v *serverVersion) read(ctx context.Context) (version string, newer bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	body, err := v.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", false, fmt.Errorf("reading /version: %w", err)
	}
	var info apimachineryversion.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", false, fmt.Errorf("reading /version: %w", err)
	}
	newer, err = supported.Newer(info.GitVersion)
	return info.GitVersion, newer, err
}
