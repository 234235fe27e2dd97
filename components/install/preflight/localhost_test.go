// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// TestSignerProblemSuggestsOnlyWorkingOptions: without the CA's key, the message must not offer another way to
// install.
func TestSignerProblemSuggestsOnlyWorkingOptions(t *testing.T) {
	layout := host.Layout{KubePKI: t.TempDir()}
	_, err := pki.EnsureCA(layout.KubeCA(), "kubernetes", time.Now())
	installtest.Must(t, err)
	local := LocalHost{Layout: layout}
	if problem := local.SignerProblem(); problem != "" {
		t.Errorf("a CA with its key: %s", problem)
	}
	installtest.Must(t, os.Remove(layout.KubeCA().KeyFile))
	problem := local.SignerProblem()
	if !strings.Contains(problem, "put the CA's certificate and key there") || strings.Contains(problem, "yourself") {
		t.Errorf("it says %q", problem)
	}
}
