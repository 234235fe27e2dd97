// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	stormPods  = 300
	stormNodes = 10
	// stormPace is faster than the promised rate, so that a late bind does not fall below that
	// rate.
	stormPace = 40 * time.Millisecond
	stormRate = 20.0
	// creators is the number of objects that are created at once.
	creators = 16

	// probeInterval is the time between two lists that measure the API server.
	probeInterval = 100 * time.Millisecond
)

// storm binds many pods in a short time. Each pod has its own secret and config map. Its node
// requests both once, at the moment of the bind. storm records the answers.
type storm struct {
	pods      int
	pace      time.Duration
	nodes     []*Identity
	names     []string
	namespace string
	// prefix begins the names of its objects: a spec can have several storms in one namespace.
	prefix string

	mu        sync.Mutex
	refused   []string
	failed    []string
	latencies []time.Duration
	bound     []time.Time
	// slowest is the longest time that the API server needed for a list of a node's pods.
	slowest time.Duration
}

// prepare registers nodes without kubelets, each with a real certificate, and creates the pods that
// will be bound to them.
func prepare(ctx context.Context, env *Env, nodes, pods int, pace time.Duration) *storm {
	GinkgoHelper()
	s := &storm{pods: pods, pace: pace, namespace: env.Namespace(ctx), prefix: env.NewName("storm"),
		nodes: make([]*Identity, nodes)}
	for range nodes {
		s.names = append(s.names, env.Node(ctx, env.NewName("e2e-storm")).Name)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i, name := range s.names {
		group.Go(func() error { return s.enlist(ctx, i, name) })
	}
	for i := range pods {
		group.Go(func() error { return s.create(ctx, i) })
	}
	Expect(group.Wait()).To(Succeed())
	return s
}

// enlist gets a certificate for a node and opens its connection, because a kubelet's connection is
// open long before a pod arrives.
func (s *storm) enlist(ctx context.Context, i int, name string) (err error) {
	if s.nodes[i], err = suite.Certified(ctx, name); err != nil {
		return err
	}
	code, message, err := s.nodes[i].Send(ctx, List(api.Services).In("default"))
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s with its certificate: %d %s", name, code, message)
	}
	return err
}

// name returns the name of a pod and of its objects.
func (s *storm) name(i int) string { return fmt.Sprintf("%s-%d", s.prefix, i) }

func (s *storm) create(ctx context.Context, i int) error {
	name := s.name(i)
	for _, object := range []k8s.Object{
		fixtures.Secret(s.namespace, name), fixtures.ConfigMap(s.namespace, name),
		fixtures.Pod(s.namespace, name, "", fixtures.Unscheduled, fixtures.WithSecret(name), fixtures.WithConfigMap(name)),
	} {
		if err := suite.Objects.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, name, err)
		}
	}
	return nil
}

// run binds the pods one after another, and returns after the last answer. Meanwhile it measures
// the API server with the list that node-authorizer needs for a lookup.
func (s *storm) run(ctx context.Context) {
	GinkgoHelper()
	probing, stop := context.WithCancel(ctx)
	var probe sync.WaitGroup
	probe.Go(func() { s.probe(probing) })
	defer probe.Wait()
	defer stop()
	ticker := time.NewTicker(s.pace)
	defer ticker.Stop()
	var asking sync.WaitGroup
	for i := range s.pods {
		asking.Go(func() { s.bindAndAsk(ctx, i) })
		<-ticker.C
	}
	asking.Wait()
}

func (s *storm) bindAndAsk(ctx context.Context, i int) {
	name, node := s.name(i), i%len(s.nodes)
	err := suite.Client.CoreV1().Pods(s.namespace).Bind(ctx, fixtures.Binding(s.namespace, name, s.names[node]),
		metav1.CreateOptions{})
	s.mu.Lock()
	s.bound = append(s.bound, time.Now())
	if err != nil {
		s.failed = append(s.failed, fmt.Sprintf("binding %s: %v", name, err))
	}
	s.mu.Unlock()
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { s.ask(ctx, s.nodes[node], Get(api.Secrets).In(s.namespace).Named(name)) })
	both.Go(func() { s.ask(ctx, s.nodes[node], Get(api.ConfigMaps).In(s.namespace).Named(name)) })
	both.Wait()
}

func (s *storm) ask(ctx context.Context, node *Identity, request Request) {
	begun := time.Now()
	code, message, err := node.Send(ctx, request)
	took := time.Since(begun)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latencies = append(s.latencies, took)
	switch {
	case err != nil:
		s.failed = append(s.failed, err.Error())
	case code == http.StatusForbidden:
		s.refused = append(s.refused, message)
	case code != http.StatusOK:
		s.failed = append(s.failed, fmt.Sprintf("%s as %s: %d %s", request, node, code, message))
	}
}

// probe lists the pods of the first node, again and again.
func (s *storm) probe(ctx context.Context) {
	options := metav1.ListOptions{FieldSelector: "spec.nodeName=" + s.names[0]}
	for ctx.Err() == nil {
		begun := time.Now()
		_, err := suite.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if ctx.Err() == nil {
			s.mu.Lock()
			s.slowest = max(s.slowest, time.Since(begun))
			if err != nil {
				s.failed = append(s.failed, fmt.Sprintf("listing the pods of %s: %v", s.names[0], err))
			}
			s.mu.Unlock()
		}
		select {
		case <-time.After(probeInterval):
		case <-ctx.Done():
		}
	}
}

// Serial: the spec needs the whole machine.
var _ = Describe("a storm of pods", Serial, Label(Slow), func() {
	It("causes no false denial", Allows("NA-SECRET-1"), Allows("NA-CM-1"), func(ctx SpecContext) {
		TakeMachine(ctx)
		stormOnThisMachine(ctx, "a storm").expectNoRefusal()
	})
})
