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
	// tryInterval is how often it is tried whether the API server can be reached,
	// and retryInterval how often while it cannot.
	tryInterval   = 5 * time.Second
	retryInterval = 500 * time.Millisecond
)

var (
	untried = "has not yet reached the API server"
	reached = ""
)

// Run finds out, again and again until ctx is done, whether questions can be
// answered, and counts certificate signing requests.
func (v *Cluster) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { v.keepTally(ctx) })
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

// Unready says why questions were not answered when that was last tried; it is
// empty if they were. It is for probes: a question is always tried.
func (v *Cluster) Unready() string { return *v.unreached.Load() }

// reach asks the way that questions are asked, with the same rights, for what
// every cluster has.
func (v *Cluster) reach(ctx context.Context) {
	_, err := v.Namespace(ctx, metav1.NamespaceSystem)
	if err == nil || apierrors.IsNotFound(err) {
		v.unreached.Store(&reached)
		return
	}
	why := err.Error()
	v.unreached.Store(&why)
}
