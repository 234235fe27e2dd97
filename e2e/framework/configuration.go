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
	// configurationFile is what an operator edits on a control-plane host.
	configurationFile = StateDirectory + "/node-restriction/configuration.yaml"
	// reread bounds how long a changed file may take to be in force: it is looked at
	// every two seconds, and taken when it has said the same thing twice.
	reread = 30 * time.Second
	// RestrictionProcess finds the process of node-restriction on its host: a process
	// has fifteen letters of its name.
	RestrictionProcess = "pgrep -x node-restrictio"
	// RestrictionReady succeeds on a control-plane host where node-restriction is ready.
	RestrictionReady = "curl -sS --fail --max-time 5 http://127.0.0.1:10464/readyz"

	restrictionMetrics = "curl -sS --fail --max-time 10 http://127.0.0.1:10464/metrics"
	goodLoads          = "bulkhead_configuration_loads_total"
)

// Configure has another configuration be in force until the spec, or the container
// of the BeforeAll that calls it, is over. It is for specs that run alone.
func (s *Suite) Configure(ctx context.Context, yaml string) {
	ginkgo.GinkgoHelper()
	before := s.OnControlPlane(ctx, "base64 -w0 "+configurationFile)
	ginkgo.DeferCleanup(func(ctx context.Context) { s.writeConfiguration(ctx, before) })
	s.writeConfiguration(ctx, base64.StdEncoding.EncodeToString([]byte(yaml)))
}

// writeConfiguration writes in place, so that owner and mode stay, and waits until
// the file has been read as good once more.
func (s *Suite) writeConfiguration(ctx context.Context, encoded string) {
	ginkgo.GinkgoHelper()
	read := func() (float64, error) { return s.RestrictionMetric(ctx, goodLoads, `result="good"`) }
	known, err := read()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if s.OnControlPlane(ctx, "base64 -w0 "+configurationFile) == encoded {
		return
	}
	s.OnControlPlane(ctx, fmt.Sprintf("echo %s | base64 -d >%s", encoded, configurationFile))
	gomega.Eventually(ctx, read).WithTimeout(reread).WithPolling(time.Second).Should(gomega.BeNumerically(">", known))
}

// RestrictionMetric sums a metric of node-restriction over all series that have the
// labels.
func (c *Cluster) RestrictionMetric(ctx context.Context, name, labels string) (float64, error) {
	text, err := c.Host.Run(ctx, c.ControlPlane, restrictionMetrics)
	if err != nil {
		return 0, err
	}
	return sum(text, name, labels)
}
