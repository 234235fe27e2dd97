// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	// keepFor is how long an account that must stay is not checked again.
	keepFor = 30 * time.Second
	// podsAtOnce is the page size for an account's pods. It limits memory.
	podsAtOnce = 500
	// leavesAtOnce is the maximum number of accounts that one turn checks. A user who removes a
	// thousand annotations must not delay a new account.
	leavesAtOnce = 50
)

// kept is an account that must stay in the lists.
type kept struct {
	until time.Time
	// wrong is why the check failed. It is empty if the check succeeded.
	wrong string
}

// keep returns the accounts that are listed, have no scope, and must stay for now. An account
// that cannot be checked stays.
func (s *Syncer) keep(ctx context.Context, wanted []scopelist.Candidate) []scopelist.Candidate {
	done := make(map[scopelist.Account]bool, len(wanted))
	for _, c := range wanted {
		done[c.Account] = true
	}
	var leaving []scopelist.Candidate
	for _, l := range s.lists {
		for _, account := range l.listed {
			if !done[account] {
				done[account] = true
				leaving = append(leaving, scopelist.Candidate{Account: account, Rank: scopelist.Leaving})
			}
		}
	}
	before := s.kept
	s.kept = map[scopelist.Account]kept{}
	asked := 0
	var keep []scopelist.Candidate
	for _, c := range scopelist.Order(leaving) {
		known, is := before[c.Account]
		switch {
		case is && time.Now().Before(known.until):
			s.problem(known.wrong)
			s.kept[c.Account] = known
		case asked == leavesAtOnce:
			// A later turn checks this account.
		default:
			asked++
			if !s.stays(ctx, c.Account) {
				continue
			}
		}
		keep = append(keep, c)
	}
	return keep
}

// stays checks now whether an account must stay.
func (s *Syncer) stays(ctx context.Context, account scopelist.Account) bool {
	leaves, err := s.mayLeave(ctx, account)
	if leaves {
		return false
	}
	now := kept{until: time.Now().Add(keepFor)}
	if err != nil {
		now.wrong = fmt.Sprintf("%s stays in the lists: %v", account, err)
		s.problem(now.wrong)
	}
	s.kept[account] = now
	return true
}

// mayLeave reads the account and its pods from the API server, without a cache.
func (s *Syncer) mayLeave(ctx context.Context, account scopelist.Account) (bool, error) {
	sa, err := s.Client.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{})
	deleted := apierrors.IsNotFound(err)
	if err != nil && !deleted {
		return false, err
	}
	if !deleted && isAnnotated(sa.Annotations) {
		return false, nil
	}
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.serviceAccountName", account.Name).String(), Limit: podsAtOnce,
	}
	for {
		pods, err := s.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(account.Namespace).List(
			ctx, options)
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			annotations := pods.Items[i].Annotations
			if _, mirror := annotations[corev1.MirrorPodAnnotationKey]; !mirror && (deleted || isAnnotated(annotations)) {
				return false, nil
			}
		}
		if options.Continue = pods.Continue; options.Continue == "" {
			return true, nil
		}
	}
}

func isAnnotated(annotations map[string]string) bool {
	_, annotated := annotations[nodescope.ScopeAnnotation]
	return annotated
}
