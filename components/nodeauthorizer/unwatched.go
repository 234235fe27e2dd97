// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// The API server authorizes a watch once, when it begins, and the client chooses how long it
// lasts. A node that watches a secret sees its changes after the last pod that used it has
// left. Only a node that does not watch loses that.
//
// The default kubelet watches, and starts no pod with a secret if it may not. So these rules
// only audit unless they are enforced by name.
const sourceOfUnwatched = "Bulkhead: kube-apiserver authorizes a watch when it begins " +
	"(staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go WithAuthorization); " +
	"kubelets with configMapAndSecretChangeDetectionStrategy Cache or Get only get (pkg/kubelet/kubelet.go NewMainKubelet)"

var (
	secretUnwatched = rules.Rule{
		ID: "NA-SECRET-3",
		Description: "A node gets the secrets of its pods and neither lists nor watches them, so that it sees no change of " +
			"a secret " +
			"after its last pod with that secret has left.",
		Source:    sourceOfUnwatched,
		Extension: true,
		Optional:  true,
		Audited:   true,
	}
	configMapUnwatched = rules.Rule{
		ID: "NA-CM-3",
		Description: "A node gets the config maps of its pods and neither lists nor watches them, so that it sees no " +
			"change of a config map " +
			"after its last pod with that config map has left.",
		Source:    sourceOfUnwatched,
		Extension: true,
		Optional:  true,
		Audited:   true,
	}
)

const noWatch = "can only get objects of this type, not list or watch them: " +
	"set configMapAndSecretChangeDetectionStrategy of the kubelet to Cache or Get"

// unwatched refuses a list or a watch that a rule of the class has allowed. What another
// optional rule would refuse first is reported as that rule's.
func unwatched(by rules.Rule, mode rules.Mode, v rules.Decision) rules.Decision {
	switch {
	case mode == rules.Enforce && v.Effect != rules.Deny:
		return deny(by, noWatch)
	case mode == rules.Audit && v.Effect == rules.Allow && len(v.Findings) == 0:
		v.Findings = []rules.Finding{{Rule: by.ID}}
	}
	return v
}
