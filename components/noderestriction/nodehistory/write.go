// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

const (
	// mostBytes is well below the limit of a ConfigMap, which is 1 MiB.
	mostBytes = 768 << 10
	// betweenWrites is the time between two writes. Changes within it are written together.
	betweenWrites = time.Second
	// longestWait is the longest time between two writes while they fail.
	longestWait = 30 * time.Second
	// retryFull is how often a record that did not fit is retried.
	retryFull = time.Minute
	// lookInterval is how often the configuration is checked for a change of the sticky taints.
	lookInterval = 2 * time.Second
	// mostConflicts is how often one write is retried after a conflict.
	mostConflicts = 10
)

// keepStored writes the waiting records until ctx is done.
func (m *Store) keepStored(ctx context.Context) {
	logger := klog.FromContext(ctx)
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	wait, next, last := betweenWrites, time.Time{}, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			m.recheckStickyTaints(logger)
		case <-m.wake:
		}
		if time.Now().Before(next) || !m.hasToWrite(time.Since(last) >= retryFull) {
			continue
		}
		last = time.Now()
		if err := m.write(ctx, logger); err != nil {
			logger.Error(err, "Storing the taints of nodes, will try again", "configMap", klog.KRef(Namespace, Name))
			wait = min(2*wait, longestWait)
		} else {
			wait = betweenWrites
		}
		next = time.Now().Add(wait)
	}
}

// hasToWrite reports whether a record is waiting that may fit. If again is true, it includes
// records that did not fit before.
func (m *Store) hasToWrite(again bool) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.isRead {
		return false
	}
	for _, w := range m.waiting {
		if again || !w.noSpace {
			return true
		}
	}
	return false
}

// write merges the waiting records into the ConfigMap. It retries conflicts.
func (m *Store) write(ctx context.Context, logger klog.Logger) error {
	for range mostConflicts {
		err := m.writeOnce(ctx, logger)
		if !apierrors.IsConflict(err) {
			m.count(err)
			return err
		}
		m.writes.WithLabelValues("conflict").Inc()
	}
	return fmt.Errorf("other clients have written %d times in the meantime", mostConflicts)
}

func (m *Store) writeOnce(ctx context.Context, logger klog.Logger) error {
	client := m.client.CoreV1().ConfigMaps(Namespace)
	there, err := client.Get(ctx, Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the node history %w", errMissing)
	case err != nil:
		return err
	}
	w := m.merge(there.Data)
	if w.changed {
		next := there.DeepCopy()
		next.Data = w.data
		if there, err = client.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	m.written(logger, w, there)
	return nil
}

// written removes the stored records from waiting, unless they have changed again.
func (m *Store) written(logger klog.Logger, w writing, now *corev1.ConfigMap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, ours := range w.stored {
		if m.waiting[name] == ours {
			delete(m.waiting, name)
		}
	}
	news := 0
	for name, ours := range w.noSpace {
		if m.waiting[name] != ours || ours.noSpace {
			continue
		}
		m.waiting[name] = waiting{version: ours.version, noSpace: true}
		news++
	}
	if news > 0 {
		logger.Error(nil, "There is no room to store the taints of more nodes; they are forgotten when this process ends",
			"configMap", klog.KRef(Namespace, Name), "limit", mostBytes, "new", news, "nodes", len(w.noSpace))
	}
	m.take(now)
}

func (m *Store) count(err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.writes.WithLabelValues(result).Inc()
}
