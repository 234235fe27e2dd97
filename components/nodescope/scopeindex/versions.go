// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// Versions says what the annotations of an account and of its pods are now, and which
// resource versions show it.
type Versions struct {
	// Digest identifies the annotations ([scopelist.Digest]).
	Digest string
	// Account and Pods are the newest resource versions in which annotations of the account
	// and of its pods have changed; empty if there are none.
	Account, Pods string
}

// Versions are those of every account that is annotated, or of which a pod is.
func (x *Annotations) Versions() map[scopelist.Account]Versions {
	x.mu.RLock()
	defer x.mu.RUnlock()
	ofPods := map[scopelist.Account]map[string]struct{}{}
	all := make(map[scopelist.Account]Versions, len(x.accounts))
	for account, a := range x.accounts {
		all[account] = Versions{Account: a.version}
	}
	for _, pod := range x.pods {
		if ofPods[pod.runsAs] == nil {
			ofPods[pod.runsAs] = map[string]struct{}{}
		}
		ofPods[pod.runsAs][pod.digest] = struct{}{}
		v := all[pod.runsAs]
		v.Pods = newer(v.Pods, pod.version)
		all[pod.runsAs] = v
	}
	for account, v := range all {
		v.Digest = scopelist.Digest(x.accounts[account].digest, ofPods[account])
		all[account] = v
	}
	return all
}

// newer returns the newer of two resource versions. One that cannot be compared wins: no
// component can have seen it, so the account is shown as pending.
func newer(a, b string) string {
	if a == "" {
		return b
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil || order < 0 {
		return b
	}
	return a
}
