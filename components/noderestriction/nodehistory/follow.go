// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
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

type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func sourceOf[L runtime.Object](client lister[L], fieldSelector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = fieldSelector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = fieldSelector
			return client.Watch(ctx, options)
		},
	}
}

// run watches the resource until ctx is done, and lists it again when a watch fails. A watch ends
// after half of maxAge and resumes from the last resource version. So a quiet resource is not
// treated as a broken connection.
func (w *watched) run(ctx context.Context, client kubernetes.Interface) {
	reflector.Resource{
		Name: "bulkhead-memory-" + w.name, Example: w.example, Source: w.source, Store: reflected{w, w.store},
		Longest: w.maxAge / 2, Heard: w.heardNow,
		Failed: func(ctx context.Context, err error) time.Duration {
			w.complain(klog.FromContext(ctx), err)
			return 0
		},
	}.Run(ctx, client)
}

func (w *watched) complain(logger klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || errors.Is(err, io.EOF) {
		logger.V(2).Info("Watch ended, listing again", "resource", w.name, "reason", err)
		return
	}
	logger.Error(err, "Listing or watching, will try again", "resource", w.name)
}
