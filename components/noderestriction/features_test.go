// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestByGateReachesEveryFeature(t *testing.T) {
	var got Features
	for _, on := range got.ByGate() {
		*on = true
	}
	want := Features{
		ServiceAccountNodeAudienceRestriction:          true,
		PodCertificateRequest:                          true,
		RecoverVolumeExpansionFailure:                  true,
		AllowInsecureKubeletCertificateSigningRequests: true,
		CSIVolumeHealth:                                true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
