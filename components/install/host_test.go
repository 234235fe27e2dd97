// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"strings"
	"testing"
)

// TestSignerProblemOffersWhatWorks: without the CA's key there is no other way,
// so no other may be offered.
func TestSignerProblemOffersWhatWorks(t *testing.T) {
	h := newTestHost(t)
	host := Host{Layout: h.layout}
	if problem := host.SignerProblem(); problem != "" {
		t.Errorf("a CA with its key: %s", problem)
	}
	must(t, os.Remove(h.layout.KubeCA().KeyFile))
	problem := host.SignerProblem()
	if !strings.Contains(problem, "put the CA's certificate and key there") || strings.Contains(problem, "yourself") {
		t.Errorf("it says %q", problem)
	}
}
