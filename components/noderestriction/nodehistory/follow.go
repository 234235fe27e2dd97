// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/reflector"
)

// watched is a resource that is watched, and the time of the last response about it.
type watched struct {
	name    string
	maxAge  time.Duration
	example runtime.Object
	source  *cache.ListWatch
	store   taker
	synced  atomic.Bool
	heard   atomic.Pointer[time.Time]
}

func (w *watched) heardNow() {
	now := time.Now()
	w.heard.Store(&now)
}

func (w *watched) unready() string {
	if !w.synced.Load() {
		return "has not yet seen all " + w.name
	}
	if time.Since(*w.heard.Load()) > w.maxAge {
		return fmt.Sprintf("has received nothing about %s for more than %v", w.name, w.maxAge)
	}
	return ""
}

// run watches the resource until ctx is done, and lists it again when a watch fails. A watch ends
// after half of maxAge and resumes from the last resource version. So a quiet resource is not
// treated as a broken connection.
func (w *watched) run(ctx context.Context, client kubernetes.Interface) {
	reflector.Resource{
		Name: "bulkhead-memory-" + w.name, Example: w.example, Source: w.source, Store: reflected{w, w.store},
		Longest: w.maxAge / 2, Heard: w.heardNow,
		Failed: func(ctx context.Context, err error) time.Duration {
			reflector.LogFailure(klog.FromContext(ctx).WithValues("resource", w.name), err)
			return 0
		},
	}.Run(ctx, client)
}
