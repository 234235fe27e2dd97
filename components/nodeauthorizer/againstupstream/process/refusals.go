// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

var errWrongAnswer = errors.New("wrong answer")

// answers is how long reviews took, in milliseconds: of what is allowed, and of
// what is refused once it has been read live.
type answers struct{ allowed, refused report.Sample }

// unnamed is a secret that no pod names.
const unnamed = "no-pod-names-this"

// ask has every so many nodes ask for the secret of a pod of theirs and for one
// that nothing on it names, one after the other.
func (p *controlPlane) ask(ctx context.Context, a *authorizer, size Size, n int) (answers, error) {
	var all answers
	caller, err := loopback.NewCaller(a.webhook, p.files)
	if err != nil {
		return all, err
	}
	for i := range n {
		// Events may have put it on another node.
		pod, err := p.client.CoreV1().Pods(size.pod(i).Namespace).Get(ctx, size.pod(i).Name, metav1.GetOptions{})
		if err != nil {
			return all, fmt.Errorf("reading a pod: %w", err)
		}
		for _, secret := range []string{pod.Spec.ServiceAccountName + "-credentials", unnamed} {
			start := time.Now()
			status, err := caller.Ask(ctx, loopback.SecretReview(pod.Spec.NodeName, pod.Namespace, secret))
			took := float64(time.Since(start).Microseconds()) / 1e3
			if err != nil {
				return all, err
			}
			allowed := secret != unnamed
			if status.Allowed != allowed {
				return all, fmt.Errorf("%w about %s of %s: %+v", errWrongAnswer, secret, pod.Spec.NodeName, status)
			}
			if allowed {
				all.allowed = append(all.allowed, took)
			} else {
				all.refused = append(all.refused, took)
			}
		}
	}
	return all, nil
}
