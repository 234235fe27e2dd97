// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// lookup finds the identity of the user of one write. It takes the account from a cache, and
// reads the pod from the API server. So a late watch event never causes a denial for a pod that
// exists.
type lookup struct {
	ctx      context.Context //nolint:containedctx // it lives for one look-up
	accounts Accounts
	pods     Pods
	// err is why the pod could not be read.
	err error
}

var _ nodescope.NodeInfo = &lookup{}

func (l *lookup) Account(namespace, name string) (nodescope.Account, bool) {
	return l.accounts.Account(namespace, name)
}

func (l *lookup) Pod(namespace, name string) (nodescope.Pod, bool) {
	pod, err := l.pods.Pod(l.ctx, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return nodescope.Pod{}, false
	case err != nil:
		l.err = err
		return nodescope.Pod{}, false
	}
	return podOf(pod), true
}

// podOf reads a pod in the same way as the index of scopes does.
func podOf(pod *corev1.Pod) nodescope.Pod {
	known := nodescope.Pod{UID: pod.UID, NodeName: pod.Spec.NodeName, RunsAs: pod.Spec.ServiceAccountName}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		known.RunsAs = ""
	}
	if text, annotated := pod.Annotations[nodescope.ScopeAnnotation]; annotated {
		// If the value cannot be parsed, the scope is everything. The index of the authorizer
		// reports the error.
		known.Scope, _ = nodescope.ParseScope(text)
	}
	return known
}

func isAccount(u user.Info) bool {
	return u != nil && strings.HasPrefix(u.GetName(), serviceaccount.ServiceAccountUsernamePrefix)
}

// noAccounts knows no account.
type noAccounts struct{}

func (noAccounts) Account(string, string) (none nodescope.Account, known bool) {
	return nodescope.Account{}, false
}
