// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// answering is a cluster that answers optional rules, too.
type answering struct{ cluster }

func (a answering) BoundTo(ctx context.Context, namespace, name string, uid types.UID) (string, error) {
	pod, err := a.Pod(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	if pod.UID == uid {
		return pod.Spec.NodeName, nil
	}
	return "", apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (answering) Count(context.Context, noderestriction.Counted, string, int) (int, error) {
	return 0, nil
}

func (answering) AddressOwner(context.Context, string, string) (string, error) { return "", nil }

func (answering) ProviderIDOwner(context.Context, string, string) (string, error) { return "", nil }

func (answering) ServiceWith(context.Context, string) (string, error) { return "", nil }

func (answering) APIServer(context.Context) ([]string, error) { return nil, nil }

func (answering) LastReported(context.Context, string) (noderestriction.Reported, error) {
	return noderestriction.Reported{}, nil
}

func (answering) Remembered(context.Context, string) (noderestriction.Memory, error) {
	return noderestriction.Memory{}, nil
}
