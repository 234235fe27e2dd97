// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// inside is the suffix of the names of pods with a shell. Requests can leave from these pods.
const inside = "-inside"

// withShell lets the specs run commands in a pod.
var withShell = fixtures.WithShell("shell", "while :; do sleep 60; done")

// insiders returns the accounts that have such a pod on the worker. On a cluster about which nothing is
// known, a pod may not use the programs of its node, so there is none.
func insiders() []string {
	if suite.Settings.Profile == Any {
		return nil
	}
	return []string{small, custom, shortLived}
}

// insidePod returns the pod with a shell of an account, as far as a request needs it.
func insidePod(account string) *corev1.Pod {
	GinkgoHelper()
	suite.SkipOnInTree("the pods have no shell")
	pod := fixtures.Pod(stage.Namespace, account+inside, own(), fixtures.As(account), withShell)
	pod.UID = stage.UIDs[pod.Name]
	return pod
}

// fromInside returns the identity of the account's pod with a shell. The token is the one in the pod, and
// the requests leave from the pod.
func fromInside(account string) actor {
	return func() *Identity {
		GinkgoHelper()
		return usedInside(account, bearerOf(insidePod(account).Name))
	}
}

// usedInside returns the identity of a token that is used in the account's pod with a shell.
func usedInside(account string, token Bearer) *Identity {
	GinkgoHelper()
	return suite.AsBearer(token).From(suite.FromPod(insidePod(account)))
}
