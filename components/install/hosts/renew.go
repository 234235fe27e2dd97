// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// renew renews the Lease until ctx is cancelled, or until another process has it. An error of the
// API changes nothing: the installer restarts this API server, and goes on without the lock.
func (l *Lock) renew(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !l.renewOnce(ctx) {
			return
		}
	}
}

// renewOnce returns false if this process has lost the lock.
func (l *Lock) renewOnce(ctx context.Context) bool {
	next := l.lease.DeepCopy()
	next.Spec.RenewTime = new(metav1.NewMicroTime(l.now()))
	have, err := l.leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: fieldManager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		have, err = l.leases.Get(ctx, LeaseName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			next.ResourceVersion, next.UID = "", ""
			have, err = l.leases.Create(ctx, next, metav1.CreateOptions{FieldManager: fieldManager})
		}
	}
	if err != nil {
		return true
	}
	l.lease = have
	return l.isOwn(have)
}

func (l *Lock) isOwn(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == l.holder
}

// Release ends the renewal and deletes the Lease. It returns the host that has taken over the lock
// meanwhile, or "". If the API does not answer, the lock expires later. Release does nothing if the
// lock is not acquired.
func (l *Lock) Release() (takenBy string) {
	if l.end == nil {
		return ""
	}
	l.end()
	<-l.done
	l.end = nil
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	// The server may have got a renewal whose response was lost, so read the current version.
	have, err := l.leases.Get(ctx, LeaseName, metav1.GetOptions{})
	switch {
	case err != nil:
	case l.isOwn(have):
		_ = l.leases.Delete(ctx, LeaseName, asRead(have))
	case l.isHeld(have):
		return nodeOf(have)
	}
	return ""
}
