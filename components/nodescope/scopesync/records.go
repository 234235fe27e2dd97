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
	// recordAgain is after what time a record is written although it says nothing new: it
	// shows that somebody looks.
	recordAgain = 5 * time.Minute
	// longestRecordDelay is that after attempts that failed.
	longestRecordDelay = awayDelay
)

// recorder keeps the record of this host.
type recorder struct {
	client  kubernetes.Interface
	node    string
	last    *scopelist.Record
	writing retry
}

// record writes the record if it says something new, and returns what is wrong with that;
// empty if nothing is. Only the key of this host's Node is touched, so hosts do not meet.
func (r *recorder) record(ctx context.Context, now scopelist.Record) (wrong string) {
	isNews := r.last == nil || now.Problem != r.last.Problem || now.Time.Sub(r.last.Time) >= recordAgain ||
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

// recall reads what the process before this one has told of accounts, so that since when
// they are live outlives a restart. What cannot be read is live since now.
func (r *recorder) recall(ctx context.Context) map[scopelist.Account]scopelist.Detail {
	told, err := r.client.CoreV1().ConfigMaps(scopelist.RecordsNamespace).Get(ctx, scopelist.RecordsName,
		metav1.GetOptions{})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the last record: accounts count as live since now")
		return nil
	}
	last, err := scopelist.DecodeRecord(told.Data[r.node])
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

// retry spaces attempts that fail, or that have nothing new to find.
type retry struct {
	next  time.Time
	delay time.Duration
	// wrong is what the last attempt met; empty if it was good.
	wrong string
}

func (r *retry) isDue() bool { return !time.Now().Before(r.next) }

// later has the next attempt wait twice as long as this one did, within bounds.
func (r *retry) later(longest time.Duration) {
	r.delay = min(max(2*r.delay, interval), longest)
	r.next = time.Now().Add(r.delay)
}

func (r *retry) failed(err error, longest time.Duration) {
	r.wrong = err.Error()
	r.later(longest)
}

func (r *retry) reset() { *r = retry{} }
