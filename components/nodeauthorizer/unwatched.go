// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// The API server authorizes a watch only once, when the watch starts. The client chooses how long
// the watch lasts. A node that watches a secret still receives its changes after the last pod that
// used the secret has left the node. Only a ban on list and watch prevents that.
//
// The default kubelet watches secrets. It starts no pod with a secret that it may not watch. So
// these rules only audit, unless an administrator enforces them by name.
const sourceOfUnwatched = "Bulkhead: kube-apiserver authorizes a watch when it begins " +
	"(staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go WithAuthorization); " +
	"kubelets with configMapAndSecretChangeDetectionStrategy Cache or Get only get (pkg/kubelet/kubelet.go NewMainKubelet)"

var (
	secretUnwatched = rules.Rule{
		ID: "NA-SECRET-3",
		Description: "A node may get the secrets of its pods, but may not list or watch them. So it sees no " +
			"change of a secret after its last pod with that secret is gone.",
		Source:    sourceOfUnwatched,
		Extension: true,
		Optional:  true,
		Audited:   true,
	}
	configMapUnwatched = rules.Rule{
		ID: "NA-CM-3",
		Description: "A node may get the config maps of its pods, but may not list or watch them. So it sees no " +
			"change of a config map after its last pod with that config map is gone.",
		Source:    sourceOfUnwatched,
		Extension: true,
		Optional:  true,
		Audited:   true,
	}
)

const noWatch = "can only get objects of this type, not list or watch them: " +
	"set configMapAndSecretChangeDetectionStrategy of the kubelet to Cache or Get"

// unwatched denies a list or a watch that another rule has allowed. If another optional rule would
// deny first, the finding names that rule.
func unwatched(by rules.Rule, mode rules.Mode, v rules.Decision) rules.Decision {
	switch {
	case mode == rules.Enforce && v.Effect != rules.Deny:
		return deny(by, noWatch)
	case mode == rules.Audit && v.Effect == rules.Allow && len(v.Findings) == 0:
		v.Findings = []rules.Finding{{Rule: by.ID}}
	}
	return v
}
