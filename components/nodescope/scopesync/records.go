// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	// recordAgain is the time after which an unchanged record is written again. A recent record
	// shows that scope-sync works.
	recordAgain = 5 * time.Minute
	// longestRecordDelay is the maximum delay after failed attempts.
	longestRecordDelay = awayDelay
)

// recorder writes the record of this host.
type recorder struct {
	client  kubernetes.Interface
	node    string
	last    *scopelist.Record
	writing retry
}

// record writes the record if it has changed. It returns the error of the write as text; empty
// if there is none. It patches only the key of this host's Node, so hosts do not conflict.
func (r *recorder) record(ctx context.Context, now scopelist.Record) (wrong string) {
	// After a failed write, the record is written even if it is again the same as the last one.
	// Otherwise the error would stay until recordAgain has passed.
	isNews := r.writing.wrong != "" || r.last == nil || now.Problem != r.last.Problem ||
		now.Time.Sub(r.last.Time) >= recordAgain ||
		!maps.Equal(now.Accounts, r.last.Accounts) || !maps.Equal(now.Details, r.last.Details)
	if !isNews || !r.writing.isDue() {
		return r.writing.wrong
	}
	if err := r.patch(ctx, now); err != nil {
		r.writing.failed(err, longestRecordDelay)
		return r.writing.wrong
	}
	r.writing.reset()
	r.last = &now
	return ""
}

// recall reads the details in the last record, so that the times since which accounts are live
// survive a restart. If the record cannot be read, accounts are live since now.
func (r *recorder) recall(ctx context.Context) map[scopelist.Account]scopelist.Detail {
	lastReason, err := r.client.CoreV1().ConfigMaps(scopelist.RecordsNamespace).Get(ctx, scopelist.RecordsName,
		metav1.GetOptions{})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the last record: accounts count as live since now")
		return nil
	}
	last, err := scopelist.DecodeRecord(lastReason.Data[r.node])
	if err != nil {
		return nil
	}
	return last.Details
}

func (r *recorder) patch(ctx context.Context, now scopelist.Record) error {
	text, err := now.Encode()
	if err != nil {
		return fmt.Errorf("telling the state of accounts: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{r.node: text}})
	if err != nil {
		return fmt.Errorf("telling the state of accounts: %w", err)
	}
	_, err = r.client.CoreV1().ConfigMaps(scopelist.RecordsNamespace).Patch(ctx, scopelist.RecordsName,
		types.MergePatchType, patch,
		metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no ConfigMap %s/%s to tell the state of accounts in: install node scope again",
			scopelist.RecordsNamespace, scopelist.RecordsName)
	}
	if err != nil {
		return fmt.Errorf("telling the state of accounts: %w", err)
	}
	return nil
}

// retry delays attempts that failed or that found nothing new.
type retry struct {
	next  time.Time
	delay time.Duration
	// wrong is the error of the last attempt; empty if it succeeded.
	wrong string
}

func (r *retry) isDue() bool { return !time.Now().Before(r.next) }

// later doubles the delay before the next attempt, between [interval] and longest.
func (r *retry) later(longest time.Duration) {
	r.delay = min(max(2*r.delay, interval), longest)
	r.next = time.Now().Add(r.delay)
}

func (r *retry) failed(err error, longest time.Duration) {
	r.wrong = err.Error()
	r.later(longest)
}

func (r *retry) reset() { *r = retry{} }
