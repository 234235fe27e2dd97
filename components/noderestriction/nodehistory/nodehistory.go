// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"cmp"
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// The ConfigMap with the records.
const (
	Namespace = "kube-system"
	Name      = "bulkhead-node-restriction"
)

// DefaultMaxAge is the default of [Config.MaxAge].
const DefaultMaxAge = 5 * time.Minute

// Config is what a [Store] works with.
type Config struct {
	Client kubernetes.Interface
	// Configuration returns the policy that holds now, which says what is sticky. It
	// may return nil.
	Configuration func() *configuration.Configuration
	// MaxAge is the silence of the API server after which nothing is told any more;
	// DefaultMaxAge if it is zero.
	MaxAge time.Duration
	// Registry gets the metrics. It may be nil.
	Registry metrics.KubeRegistry
}

// Store remembers. Use [New]. It is safe for concurrent use.
type Store struct {
	client        kubernetes.Interface
	configuration func() *configuration.Configuration
	watched       [2]*watched
	writes        *metrics.CounterVec
	// wake has an element when there may be something to write.
	wake chan struct{}

	mu    sync.RWMutex
	nodes *nodes
	// records are what is stored, and what waits to be.
	records map[string]record
	waiting map[string]waiting
	// version is that of the ConfigMap when its records were taken, and bytes what is
	// in it.
	version string
	bytes   int
	// sticky is what the Nodes were last looked at with.
	sticky *configuration.Keys
	// isRead is true once it is known what is stored.
	isRead bool
	// missing is true while there is no ConfigMap, and uid that of the one from which
	// the records were taken.
	missing bool
	uid     types.UID
}

// waiting is a record that is not stored yet.
type waiting struct {
	// version is that of the Node from which the record was made.
	version string
	// noRoom is true after it did not fit.
	noRoom bool
}

// New returns a Store that knows nothing yet. It calls nobody.
func New(config Config) *Store {
	m := &Store{
		client: config.Client, configuration: config.Configuration,
		wake: make(chan struct{}, 1), nodes: newNodes(), records: map[string]record{}, waiting: map[string]waiting{},
	}
	maxAge := cmp.Or(config.MaxAge, DefaultMaxAge)
	m.watched = [2]*watched{
		{name: "nodes", maxAge: maxAge, example: &corev1.Node{}, source: m.nodeSource(), store: nodeStore{m}},
		{name: "configmaps", maxAge: maxAge, example: &corev1.ConfigMap{}, source: m.recordSource(), store: recordStore{m}},
	}
	registry := config.Registry
	if registry == nil {
		registry = metrics.NewKubeRegistry()
	}
	m.register(registry)
	return m
}

// Run follows the cluster and keeps the records until ctx is done. It returns when
// nothing of it runs any more.
func (m *Store) Run(ctx context.Context) {
	m.marks(klog.FromContext(ctx))
	var running sync.WaitGroup
	for _, w := range m.watched {
		running.Go(func() { w.run(ctx, m.client) })
	}
	running.Go(func() { m.keepStored(ctx) })
	running.Wait()
}

// observe takes what is new in a Node into its record.
func (m *Store) observe(logger klog.Logger, name string) {
	n := m.nodes.byName[name]
	if !m.isRead || n == nil || n.gone {
		return
	}
	before := m.records[name]
	n.judge(before, m.sticky)
	after := before.observed(n, m.sticky)
	n.crowd(logger, name, after, m.sticky)
	if same(before, after) {
		return
	}
	if len(after.absent) > len(before.absent) {
		logger.Info("Node was registered again without taints that it had", "node", name, "taints", spell(after.absent))
	}
	m.put(name, after)
	m.waiting[name] = waiting{version: n.version}
	m.wakeUp()
}

func (m *Store) put(name string, r record) {
	if r.isEmpty() {
		delete(m.records, name)
		return
	}
	m.records[name] = r
}

func (m *Store) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// same compares what is written of two records.
func same(a, b record) bool { return a.version == b.version && a.tells(b) }

// marks looks at all Nodes again if other taints are sticky than before.
func (m *Store) marks(logger klog.Logger) {
	var sticky *configuration.Keys
	if c := m.configuration(); c != nil {
		sticky = c.StickyTaints
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if sticky == m.sticky {
		return
	}
	m.sticky = sticky
	for name := range m.nodes.byName {
		m.observe(logger, name)
	}
}
