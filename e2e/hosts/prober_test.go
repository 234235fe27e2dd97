// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// pace is the time between two calls of a client.
const pace = 100 * time.Millisecond

// client sends one request again and again, each on a new connection, and counts the failures.
type client struct {
	name    string
	who     *Identity
	request Request

	mu     sync.Mutex
	calls  int
	failed []string
	// down is the time between the first failure of a series and the next success, in all.
	down    time.Duration
	downNow time.Time
}

func (c *client) run(ctx context.Context) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for ctx.Err() == nil {
		code, message, err := c.who.Send(ctx, c.request)
		if ctx.Err() != nil {
			return
		}
		c.record(code, message, err)
		<-ticker.C
	}
}

func (c *client) record(code int, message string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	now := time.Now()
	if err != nil || code != 200 {
		c.failed = append(c.failed, fmt.Sprintf("%s: %d %s %v", now.Format("15:04:05.000"), code, message, err))
		if c.downNow.IsZero() {
			c.downNow = now
		}
		return
	}
	if !c.downNow.IsZero() {
		c.down += now.Sub(c.downNow)
		c.downNow = time.Time{}
	}
}

func (c *client) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d calls, %d failed, no answers for %s in all", c.calls, len(c.failed),
		c.down.Round(time.Millisecond))
}

func (c *client) failures() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.failed...)
}

// probers are the clients of a cluster.
type probers struct {
	// balanced clients go through the load balancer. direct clients go to one API server each.
	balanced, direct []*client
	stop             context.CancelFunc
	running          sync.WaitGroup
}

// startProbers starts an administrator and a kubelet that go through the load balancer, and an
// administrator for each API server.
func startProbers(ctx context.Context) *probers {
	GinkgoHelper()
	kubelet, err := suite.RealKubelet(ctx, suite.Worker)
	Expect(err).NotTo(HaveOccurred())
	system := Get(corev1.SchemeGroupVersion.WithResource("namespaces")).Named("kube-system")
	p := &probers{balanced: []*client{
		{name: "an administrator, through the load balancer", who: suite.AsAdmin().NewConnections(), request: system},
		{name: "a kubelet, through the load balancer", who: kubelet.NewConnections(),
			request: Get(api.Nodes).Named(suite.Worker)},
	}}
	for _, node := range findControlPlanes(ctx) {
		p.direct = append(p.direct, &client{name: "the API server of " + node.Name,
			who: suite.AsAdmin().NewConnections().At(address(&node)), request: system})
	}
	probing, stop := context.WithCancel(context.Background())
	p.stop = stop
	for _, c := range append(p.balanced, p.direct...) {
		p.running.Go(func() { c.run(probing) })
	}
	return p
}

// end stops the clients and reports their figures.
func (p *probers) end() {
	p.stop()
	p.running.Wait()
	for _, c := range append(p.balanced, p.direct...) {
		Measured(c.name, c.String())
	}
}

// expectNoFailure expects that no call through the load balancer has failed.
func (p *probers) expectNoFailure() {
	GinkgoHelper()
	for _, c := range p.balanced {
		Expect(c.calls).To(BeNumerically(">", 100), c.name)
		Expect(c.failures()).To(BeEmpty(), c.name)
	}
}
