// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

const (
	// configurationFile is the file that an operator edits on a control-plane host.
	configurationFile = StateDirectory + "/node-restriction/configuration.yaml"
	// reread bounds how long a changed file may take to be in force. node-restriction reads it
	// every two seconds, and uses it after two equal reads.
	reread = 30 * time.Second
	// RestrictionProcess finds the process of node-restriction on its host. The kernel truncates a
	// process name to fifteen characters.
	RestrictionProcess = "pgrep -x node-restrictio"
	// RestrictionReady succeeds on a control-plane host where node-restriction is ready.
	RestrictionReady = "curl -sS --fail --max-time 5 http://127.0.0.1:10464/readyz"

	restrictionMetrics = "curl -sS --fail --max-time 10 http://127.0.0.1:10464/metrics"
	configurationLoads = "bulkhead_configuration_loads_total"
)

// Configure applies another configuration until the end of the spec, or of the container whose
// BeforeAll calls this. It is for serial specs.
func (s *Suite) Configure(ctx context.Context, yaml string) {
	ginkgo.GinkgoHelper()
	before := s.OnControlPlane(ctx, "base64 -w0 "+configurationFile)
	ginkgo.DeferCleanup(func(ctx context.Context) { s.writeConfiguration(ctx, before) })
	s.writeConfiguration(ctx, base64.StdEncoding.EncodeToString([]byte(yaml)))
}

// writeConfiguration writes the file in place, so that owner and mode stay. It waits until the file
// has been loaded successfully once more.
func (s *Suite) writeConfiguration(ctx context.Context, encoded string) {
	ginkgo.GinkgoHelper()
	read := func() (float64, error) { return s.RestrictionMetric(ctx, configurationLoads, `result="good"`) }
	known, err := read()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if s.OnControlPlane(ctx, "base64 -w0 "+configurationFile) == encoded {
		return
	}
	s.OnControlPlane(ctx, fmt.Sprintf("echo %s | base64 -d >%s", encoded, configurationFile))
	gomega.Eventually(ctx, read).WithTimeout(reread).WithPolling(time.Second).Should(gomega.BeNumerically(">", known))
}

// RestrictionMetric returns the sum of a metric of node-restriction over all series with the
// labels.
func (c *Cluster) RestrictionMetric(ctx context.Context, name, labels string) (float64, error) {
	text, err := c.Host.Run(ctx, c.ControlPlane, restrictionMetrics)
	if err != nil {
		return 0, err
	}
	return sum(text, name, labels)
}
