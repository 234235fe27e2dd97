// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

const (
	// countInterval is the time between two counts. countJitter is the largest random addition to
	// it, as a fraction, so that several control-plane hosts do not list at the same moment.
	countInterval = 30 * time.Second
	countJitter   = 0.3
	// firstCountInterval is the time between two counts before the first success.
	firstCountInterval = 5 * time.Second
	// countTimeout limits the time of one count, with all its pages.
	countTimeout = 20 * time.Second
	// countRest limits the load: the pause after a count is at least this many times its duration.
	countRest = 9
	// countPage is smaller than the pages of other lists, because the whole objects are read.
	countPage = 25

	signingRequestsKind = "certificatesigningrequests"
)

var errCountTimeout = errors.New("the API server has not listed all certificate signing requests within 20s")

// SigningRequests implements [noderestriction.Cluster]. No field selector exists for the user who
// created a request. So Run lists all requests about every 30 s, and never for a single write.
//
// Counting can fail: the API server is not reachable, or the right to list is missing. Then the
// last good count stays in force. Requests that this process has admitted since then also count,
// for one to two days. Before the first good count, only these requests count. The same applies to
// requests beyond the 20,000 that one count reads. Requests that other instances admit are included
// from the next count on.
func (v *Cluster) SigningRequests(node string, of noderestriction.Signers, limit int, adds bool) int {
	return v.signing.count(askedFor{node, of}, limit, adds)
}

// runCounter counts until ctx is done. It skips a count that no rule needs.
func (v *Cluster) runCounter(ctx context.Context) {
	good, failing := false, false
	for {
		rest := firstCountInterval
		if v.wantsCount == nil || v.wantsCount() {
			began := time.Now()
			err := v.countOnce(ctx)
			good = good || err == nil
			if err != nil && !failing && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Counting certificate signing requests, the last count stays in force", "known",
					good)
			}
			failing = err != nil
			if good {
				rest = countInterval
			}
			rest = max(rest, countRest*time.Since(began))
		}
		timer := time.NewTimer(wait.Jitter(rest, countJitter))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// countOnce lists all requests once. If it fails, the count does not change.
func (v *Cluster) countOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, countTimeout, errCountTimeout)
	defer cancel()
	start := time.Now()
	v.signing.begin(start)
	listed, complete, err := v.listSigningRequests(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	v.metrics.lookedUp(signingRequestsKind, outcomeOf(err), time.Since(start))
	if err != nil {
		return err
	}
	if v.signing.end(listed, complete) {
		klog.FromContext(ctx).Error(nil,
			"There are more certificate signing requests than are counted: of what was counted before nothing is let go for a "+
				"day", "limit", maxTallied)
	}
	v.metrics.tallied.Set(float64(start.Unix()))
	return nil
}

func (v *Cluster) listSigningRequests(ctx context.Context) (listed map[askedFor]int, complete bool, err error) {
	listed = map[askedFor]int{}
	options := metav1.ListOptions{Limit: countPage}
	for range maxTallied / countPage {
		page, err := v.client.CertificatesV1().CertificateSigningRequests().List(ctx, options)
		if err != nil {
			return nil, false, withoutStatus(err)
		}
		for i := range page.Items {
			spec := &page.Items[i].Spec
			if by := askedBy(spec.Username, spec.SignerName); by.node != "" {
				listed[by]++
			}
		}
		if page.Continue == "" {
			return listed, true, nil
		}
		options.Continue = page.Continue
	}
	return listed, false, nil
}
