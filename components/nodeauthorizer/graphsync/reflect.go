// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/reflector"
)

// leftAlone is how long graphsync waits before it asks a server again for an API that it does not
// have.
const leftAlone = 30 * time.Second

// reflect lists and watches one resource until the context ends. A watch that continues from the
// last resource version lasts half of maxAge. So each renewal shows that a healthy server is alive,
// even if it sends no bookmarks. It also shows when the server no longer permits the watch.
func (s *Sync) reflect(ctx context.Context, w watched) {
	reflector.Resource{
		Name: "bulkhead-" + w.name, Example: w.example, Source: w.source, Store: w.store,
		Longest: s.maxAge / 2, Heard: w.view.heard,
		Failed: func(ctx context.Context, err error) time.Duration {
			return w.handle(klog.FromContext(ctx).WithValues("resource", w.name), err)
		},
	}.Run(ctx, s.client)
}

// handle records a missing API and logs every other error. It returns the minimum delay before the
// next attempt.
func (w watched) handle(logger klog.Logger, err error) time.Duration {
	if !w.optional || !apierrors.IsNotFound(err) {
		reflector.LogFailure(logger, err)
		return 0
	}
	if w.view.progress().Served {
		logger.Info("API is not served, so nothing of this kind can be related to a node")
	}
	if err := w.replace(nil, ""); err != nil {
		logger.Error(err, "Forgetting what was there")
		return 0
	}
	w.view.absent()
	return leftAlone
}
