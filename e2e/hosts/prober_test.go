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
	"k8s.io/client-go/rest"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// pace is the time between two calls of a client.
const pace = 100 * time.Millisecond

// client reads one object again and again, each time on a new connection, and counts the failures.
// It is client-go, as in kubectl and the kubelet: it sends a GET again if the server closes the
// connection without an answer, as a server that is about to end can do.
type client struct {
	name   string
	path   string
	client rest.Interface

	mu     sync.Mutex
	calls  int
	failed []string
	// noAnswer are the errors of connections, also those after which client-go has tried again.
	noAnswer []string
	// down is the time between the first failure of a series and the next success, in all.
	down    time.Duration
	downNow time.Time
}

func (c *client) run(ctx context.Context) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for ctx.Err() == nil {
		err := c.client.Get().AbsPath(c.path).Do(ctx).Error()
		if ctx.Err() != nil {
			return
		}
		c.record(err)
		<-ticker.C
	}
}

func (c *client) record(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	now := time.Now()
	if err != nil {
		c.failed = append(c.failed, now.Format("15:04:05.000: ")+err.Error())
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
	return fmt.Sprintf("%d calls, %d failed, failing for %s in all; %d connections without an answer", c.calls,
		len(c.failed), c.down.Round(time.Millisecond), len(c.noAnswer))
}

func (c *client) connectionFailed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noAnswer = append(c.noAnswer, err.Error())
}

// newClient returns a client of the identity. Its requests begin when it runs.
func newClient(name string, who *Identity, path string) *client {
	GinkgoHelper()
	c := &client{name: name, path: path}
	clientset, err := who.NewConnections(c.connectionFailed).Client()
	Expect(err).NotTo(HaveOccurred())
	c.client = clientset.CoreV1().RESTClient()
	return c
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
	const namespace = "/api/v1/namespaces/kube-system"
	p := &probers{balanced: []*client{
		newClient("an administrator, through the load balancer", suite.AsAdmin(), namespace),
		newClient("a kubelet, through the load balancer", kubelet, "/api/v1/nodes/"+suite.Worker),
	}}
	for _, node := range findControlPlanes(ctx) {
		p.direct = append(p.direct,
			newClient("the API server of "+node.Name, suite.AsAdmin().At(address(&node)), namespace))
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
	for _, c := range p.balanced {
		for _, text := range append(c.failed, c.noAnswer...) {
			GinkgoWriter.Println(c.name + ": " + text)
		}
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
