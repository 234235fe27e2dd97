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
	// mostBytes is well below the 1 MiB that a ConfigMap can have.
	mostBytes = 768 << 10
	// betweenWrites lets what comes together be written together.
	betweenWrites = time.Second
	// longestWait is that after writes that failed one after the other.
	longestWait = 30 * time.Second
	// retryFull is how often it is tried again to store what there was no room for.
	retryFull = time.Minute
	// lookInterval is how often the configuration is asked what is sticky now.
	lookInterval = 2 * time.Second
	// mostConflicts is how often one write begins again because somebody else wrote.
	mostConflicts = 10
)

// keepStored writes what waits until ctx is done.
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
			m.marks(logger)
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

// hasToWrite is true if something waits for which there may be room, or for which
// there was none some time ago.
func (m *Store) hasToWrite(again bool) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.isRead {
		return false
	}
	for _, w := range m.waiting {
		if again || !w.noRoom {
			return true
		}
	}
	return false
}

// write stores what waits, merged into what is there.
func (m *Store) write(ctx context.Context, logger klog.Logger) error {
	for range mostConflicts {
		err := m.writeOnce(ctx, logger)
		if !apierrors.IsConflict(err) {
			m.count(err)
			return err
		}
		m.writes.WithLabelValues("conflict").Inc()
	}
	return fmt.Errorf("somebody else has written %d times meanwhile", mostConflicts)
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

// written takes what was stored off what waits, unless it has changed again.
func (m *Store) written(logger klog.Logger, w writing, now *corev1.ConfigMap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, ours := range w.stored {
		if m.waiting[name] == ours {
			delete(m.waiting, name)
		}
	}
	news := 0
	for name, ours := range w.noRoom {
		if m.waiting[name] != ours || ours.noRoom {
			continue
		}
		m.waiting[name] = waiting{version: ours.version, noRoom: true}
		news++
	}
	if news > 0 {
		logger.Error(nil, "There is no room to store the taints of more nodes; they are forgotten when this process ends",
			"configMap", klog.KRef(Namespace, Name), "limit", mostBytes, "new", news, "nodes", len(w.noRoom))
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
