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
	// countInterval is the time between two tallies, and countJitter how much longer it
	// may be, so that several control-plane hosts do not list at the same moment.
	countInterval = 30 * time.Second
	countJitter   = 0.3
	// firstTallyInterval is that before the first good one.
	firstTallyInterval = 5 * time.Second
	// countTimeout bounds one, with all its pages.
	countTimeout = 20 * time.Second
	// countRest is how many times as long as a tally took nothing is read after it.
	countRest = 9
	// countPage is less than of other lists, because the objects are read whole.
	countPage = 25

	signingRequestsKind = "certificatesigningrequests"
)

var errTallyTimeout = errors.New("the API server has not listed all certificate signing requests within 20s")

// SigningRequests implements [noderestriction.Cluster]. Who made a request is no field
// that can be selected by, so all of them are listed, about every 30 s and never for
// one write. While that fails, with the API server unreachable or without the right to
// list, the last good count stays in force, and so does what this process has admitted
// since, for one to two days; before the first good count that is all there is. So it is
// with what a count of more than 20,000 has not seen. Other instances' admissions are
// known with the next count.
func (v *Cluster) SigningRequests(node string, of noderestriction.Signers, limit int, adds bool) int {
	return v.signing.count(askedFor{node, of}, limit, adds)
}

// keepTally counts until ctx is done, whenever somebody wants to know.
func (v *Cluster) keepTally(ctx context.Context) {
	good, failing := false, false
	for {
		rest := firstTallyInterval
		if v.wantsTally == nil || v.wantsTally() {
			began := time.Now()
			err := v.tally(ctx)
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

// tally reads all requests once. One that fails changes nothing.
func (v *Cluster) tally(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, countTimeout, errTallyTimeout)
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
