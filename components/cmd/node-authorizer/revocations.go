// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/reflector"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// revocations watches the ConfigMap with the revoked credentials. If it does not exist, no
// credential is revoked. While the API server is unavailable, the last list is enforced. It is safe
// for concurrent use.
type revocations struct {
	client  kubernetes.Interface
	maxAge  time.Duration
	current atomic.Pointer[revocationlist.Set]
	// heard is when the API server last sent anything about the ConfigMap. It is nil before the
	// first list.
	heard  atomic.Pointer[time.Time]
	failed atomic.Bool
}

func newRevocations(client kubernetes.Interface, maxAge time.Duration) *revocations {
	return &revocations{client: client, maxAge: maxAge}
}

// set returns the currently revoked credentials.
func (r *revocations) set() *revocationlist.Set { return r.current.Load() }

// unready returns why the list may be out of date, as the end of a sentence. Requests are still
// decided with the last list. To leave them to the next authorizers would give more access, not
// less.
func (r *revocations) unready() string {
	heard := r.heard.Load()
	switch {
	case heard == nil:
		return "has not yet read ConfigMap " + revocationlist.Namespace + "/" + revocationlist.Name
	case time.Since(*heard) > r.maxAge:
		return fmt.Sprintf("has received nothing about ConfigMap %s/%s for more than %v", revocationlist.Namespace,
			revocationlist.Name, r.maxAge)
	}
	return ""
}

func (r *revocations) hear() {
	now := time.Now()
	r.heard.Store(&now)
}

func (r *revocations) run(ctx context.Context) {
	configMaps := r.client.CoreV1().ConfigMaps(revocationlist.Namespace)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, revocationlist.Name).String()
	reflector.Resource{
		Name: "bulkhead-revocations", Example: &corev1.ConfigMap{},
		Source: reflector.Selected(configMaps, only),
		Store:  revocationStore{r, klog.FromContext(ctx)}, Longest: r.maxAge / 2,
		Heard: func() {
			if r.heard.Load() != nil {
				r.hear()
			}
		},
		Failed: func(ctx context.Context, err error) time.Duration {
			klog.FromContext(ctx).Error(err,
				"Cannot watch the list of revoked credentials, will retry; the last list stays in use")
			return 0
		},
	}.Run(ctx, r.client)
}

// revocationStore receives what the reflector reads: at most one object.
type revocationStore struct {
	*revocations
	logger klog.Logger
}

func (s revocationStore) Add(object any) error {
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok || configMap.Name != revocationlist.Name {
		return fmt.Errorf("cannot take %T as the list of revoked credentials", object)
	}
	s.take(configMap.Data[revocationlist.IDsKey])
	return nil
}

func (s revocationStore) take(text string) {
	before := s.set()
	next, err := revocationlist.Update(before, text)
	if err != nil {
		s.logger.Error(err, "Cannot read all of the list of revoked credentials. Every credential that was revoked stays "+
			"revoked",
			"configMap", revocationlist.Namespace+"/"+revocationlist.Name, "key", revocationlist.IDsKey)
	}
	s.failed.Store(err != nil)
	s.current.Store(next)
	s.hear()
	if next.Len() != before.Len() {
		s.logger.Info("The list of revoked credentials has changed", "credentials", next.Len())
	}
}

func (s revocationStore) Update(object any) error { return s.Add(object) }

func (s revocationStore) Delete(any) error {
	s.take("")
	return nil
}

func (s revocationStore) Replace(objects []any, _ string) error {
	if len(objects) == 0 {
		return s.Delete(nil)
	}
	return s.Add(objects[0])
}

func (s revocationStore) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s revocationStore) Bookmark(string) error { //nolint:unparam // the interface has the error
	s.hear()
	return nil
}

// revocationCollector reports the current list at each scrape.
type revocationCollector struct {
	metrics.BaseStableCollector
	revocations         *revocations
	credentials, failed *metrics.Desc
}

func newRevocationCollector(r *revocations) *revocationCollector {
	return &revocationCollector{
		revocations: r,
		credentials: metrics.NewDesc("bulkhead_revoked_credentials",
			"Credentials that are revoked.", nil, nil, metrics.ALPHA, ""),
		failed: metrics.NewDesc("bulkhead_revocation_list_failed",
			"1 if the list of revoked credentials has lines that cannot be read. Every credential that was revoked stays "+
				"revoked then.", nil, nil, metrics.ALPHA, ""),
	}
}

func (c *revocationCollector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- c.credentials
	out <- c.failed
}

func (c *revocationCollector) CollectWithStability(out chan<- metrics.Metric) {
	failed := 0.0
	if c.revocations.failed.Load() {
		failed = 1
	}
	out <- metrics.NewLazyConstMetric(c.credentials, metrics.GaugeValue, float64(c.revocations.set().Len()))
	out <- metrics.NewLazyConstMetric(c.failed, metrics.GaugeValue, failed)
}
