// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LeaseName is the name of the Lease in kube-system that is the lock.
const LeaseName = "bulkhead-installer"

const (
	renewInterval = 5 * time.Second
	// minLease is the shortest time after which another host may take over the lock.
	minLease = 30 * time.Second
	// maxLease is the longest time. Other programs may write Leases in kube-system. A longer one, or one that
	// begins later, is not from an installer, and could keep installers from this cluster for years.
	maxLease = time.Hour
	// releaseTimeout bounds the last request. The lock expires without it.
	releaseTimeout = 5 * time.Second
)

// Leases are the Leases of kube-system. client-go's client implements it.
type Leases interface {
	Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(context.Context, *coordinationv1.Lease, metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(context.Context, *coordinationv1.Lease, metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// Lock prevents that installers on two hosts run at the same time. The Lease exists only while an
// installer runs. So nothing is left of it.
//
// A Lock is for one goroutine. It renews the Lease in another one.
type Lock struct {
	leases Leases
	node   string
	holder string
	// duration is how long the lock is valid without a renewal. The installer restarts the API
	// server to which it sends the renewals, so it is as long as a restart may take.
	duration time.Duration
	now      func() time.Time

	// Between Acquire and Release, only the renewing goroutine uses lease. The goroutine closes done.
	lease *coordinationv1.Lease
	end   context.CancelFunc
	done  chan struct{}
}

// NewLock returns a lock that is not acquired. restart is how long a restart of kube-apiserver may
// take.
func NewLock(leases Leases, node string, restart time.Duration, now func() time.Time) *Lock {
	return &Lock{leases: leases, node: node, holder: fmt.Sprintf("%s/%d-%s", node, os.Getpid(), rand.Text()[:8]),
		duration: min(max(restart, minLease), maxLease), now: now}
}

// HeldError reports that an installer on another host has the lock.
type HeldError struct {
	node           string
	since, expires time.Time
}

func (e HeldError) Error() string {
	return fmt.Sprintf("cannot lock the control plane: bulkhead runs on host %q since %s. Wait until it has ended, then "+
		"run this again. If it was killed, the lock expires at %s; run this again then, or run bulkhead on that host",
		e.node, e.since.UTC().Format(time.RFC3339), e.expires.UTC().Format(time.RFC3339))
}

// Acquire takes the lock, and renews it until Release. If another host has it, the error is a
// HeldError. Any other error comes from the API. A second call does nothing if the first one has
// succeeded.
func (l *Lock) Acquire(ctx context.Context) error {
	if l.end != nil {
		return nil
	}
	have, err := l.take(ctx)
	if isConflict(err) {
		// Another host has taken the lock at the same time. Its name is in the Lease.
		have, err = l.take(ctx)
	}
	if errors.As(err, &HeldError{}) {
		return err
	}
	if err != nil {
		return fmt.Errorf("cannot lock the control plane by Lease %s: %w", LeaseName, err)
	}
	l.lease = have
	// The caller's context may be cancelled. Then a rollback goes on, and needs the lock.
	ctx, l.end = context.WithCancel(context.Background())
	l.done = make(chan struct{})
	go l.renew(ctx)
	return nil
}

func (l *Lock) take(ctx context.Context) (*coordinationv1.Lease, error) {
	have, err := l.leases.Get(ctx, LeaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return l.leases.Create(ctx, l.claim(nil), metav1.CreateOptions{FieldManager: fieldManager})
	case err != nil:
		return nil, err
	case l.isHeld(have):
		return nil, l.heldError(have)
	}
	return l.leases.Update(ctx, l.claim(have), metav1.UpdateOptions{FieldManager: fieldManager})
}

// isHeld is false for a lock of this host: the file lock shows that no other installer runs here.
// A Lease without its times is not from an installer. The clocks of the hosts must agree, as
// certificates need that too.
func (l *Lock) isHeld(lease *coordinationv1.Lease) bool {
	if id := lease.Spec.HolderIdentity; id == nil || *id == "" || nodeOf(lease) == l.node {
		return false
	}
	end, known := LeaseEnd(lease, l.now())
	return known && l.now().Before(end)
}

// LeaseEnd returns when a Lease ends that is the lock. known is false if no installer can have written its
// times.
func LeaseEnd(lease *coordinationv1.Lease, now time.Time) (end time.Time, known bool) {
	renewed, seconds := lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds
	if renewed == nil || seconds == nil {
		return time.Time{}, false
	}
	lasts := time.Duration(*seconds) * time.Second
	return renewed.Add(lasts), lasts <= maxLease && !renewed.After(now.Add(maxLease))
}

func nodeOf(lease *coordinationv1.Lease) string {
	node, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "/")
	return node
}

func (l *Lock) heldError(lease *coordinationv1.Lease) error {
	end, _ := LeaseEnd(lease, l.now())
	since := lease.Spec.RenewTime
	if lease.Spec.AcquireTime != nil {
		since = lease.Spec.AcquireTime
	}
	return HeldError{nodeOf(lease), since.Time, end}
}

// claim returns the Lease of this process, with the resourceVersion of the one that was read.
func (l *Lock) claim(have *coordinationv1.Lease) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: LeaseName, Namespace: metav1.NamespaceSystem,
		Labels: map[string]string{"app.kubernetes.io/part-of": "bulkhead"}}}
	if have != nil {
		lease = have.DeepCopy()
	}
	now := metav1.NewMicroTime(l.now())
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &l.holder, AcquireTime: &now, RenewTime: &now,
		LeaseDurationSeconds: new(int32(l.duration.Seconds()))}
	return lease
}
