// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/clusteraddress"
)

// ServiceWith implements [noderestriction.Cluster].
func (v *Cluster) ServiceWith(ctx context.Context, ip string) (string, error) {
	return look(ctx, v, inCluster("ipaddresses", ip), func(ctx context.Context) (string, error) {
		return clusteraddress.Service(ctx, v.client, ip)
	})
}

// APIServer implements [noderestriction.Cluster].
func (v *Cluster) APIServer(ctx context.Context) ([]string, error) {
	return look(ctx, v, question{kind: "endpointslices"}, func(ctx context.Context) ([]string, error) {
		return clusteraddress.APIServer(ctx, v.client, clusteraddress.ServedTo(v.client))
	})
}

const (
	// tryInterval is the time between two checks of whether the API server is reachable.
	// retryInterval is the time between two checks while it is not.
	tryInterval   = 5 * time.Second
	retryInterval = 500 * time.Millisecond
)

var (
	untried = "has not yet reached the API server"
	reached = ""
)

// Run checks, until ctx is done, whether lookups succeed. It also counts
// CertificateSigningRequests. Call it once.
func (v *Cluster) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { v.runCounter(ctx) })
	running.Go(func() { v.keepTrying(ctx) })
	running.Wait()
}

func (v *Cluster) keepTrying(ctx context.Context) {
	for {
		wait := tryInterval
		if v.reach(ctx); v.Unready() != "" {
			wait = retryInterval
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// Unready returns the error of the last check, or "" if lookups succeeded. It is for probes only:
// lookups are made even while it returns an error.
func (v *Cluster) Unready() string { return *v.unreached.Load() }

// reach makes a lookup with the same code and the same rights as other lookups. It reads a
// namespace that every cluster has.
func (v *Cluster) reach(ctx context.Context) {
	_, err := v.Namespace(ctx, metav1.NamespaceSystem)
	if err == nil || apierrors.IsNotFound(err) {
		v.unreached.Store(&reached)
		return
	}
	why := err.Error()
	v.unreached.Store(&why)
}
