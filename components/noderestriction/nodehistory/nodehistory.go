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

	"github.com/bulkhead-k8s/bulkhead/components/internal/reflector"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// The namespace and the name of the ConfigMap with the records.
const (
	Namespace = "kube-system"
	Name      = "bulkhead-node-restriction"
)

// DefaultMaxAge is the default of [Config.MaxAge].
const DefaultMaxAge = 5 * time.Minute

// Config has the settings and dependencies of a [Store].
type Config struct {
	Client kubernetes.Interface
	// Configuration returns the current policy, which says which taints are sticky. It may return
	// nil.
	Configuration func() *configuration.Configuration
	// MaxAge is how long the API server may send nothing before the Store returns errors. Zero
	// means DefaultMaxAge.
	MaxAge time.Duration
	// Registry receives the metrics. It may be nil.
	Registry metrics.KubeRegistry
}

// Store watches Nodes and records their history. Use [New]. It is safe for concurrent use.
type Store struct {
	client        kubernetes.Interface
	configuration func() *configuration.Configuration
	watched       [2]*watched
	writes        *metrics.CounterVec
	// wake has an element if there may be something to write.
	wake chan struct{}

	mu    sync.RWMutex
	nodes *nodes
	// records are the stored records, updated by those in waiting. waiting has the names of the
	// nodes whose records are not stored yet.
	records map[string]record
	waiting map[string]waiting
	// version is the resource version of the ConfigMap that was read last. bytes is the size of its
	// data.
	version string
	bytes   int
	// sticky is the set of sticky keys that the Nodes were last checked with.
	sticky *configuration.Keys
	// isRead is true after the ConfigMap was read once.
	isRead bool
	// missing is true while the ConfigMap does not exist. uid is the UID of the ConfigMap that was
	// read last.
	missing bool
	uid     types.UID
}

// waiting describes a record that is not stored yet.
type waiting struct {
	// version is the resource version of the Node that the record was made from.
	version string
	// noSpace is true if the record did not fit in the last write.
	noSpace bool
}

// New returns an empty Store and registers its metrics. It makes no API call.
func New(config Config) *Store {
	m := &Store{
		client: config.Client, configuration: config.Configuration,
		wake: make(chan struct{}, 1), nodes: newNodes(), records: map[string]record{}, waiting: map[string]waiting{},
	}
	maxAge := cmp.Or(config.MaxAge, DefaultMaxAge)
	m.watched = [2]*watched{
		{name: "nodes", maxAge: maxAge, example: &corev1.Node{}, store: nodeStore{m},
			source: reflector.Everything(m.client.CoreV1().Nodes())},
		{name: "configmaps", maxAge: maxAge, example: &corev1.ConfigMap{}, store: recordStore{m},
			source: reflector.Selected(m.client.CoreV1().ConfigMaps(Namespace), "metadata.name="+Name)},
	}
	registry := config.Registry
	if registry == nil {
		registry = metrics.NewKubeRegistry()
	}
	m.register(registry)
	return m
}

// Run watches the cluster and stores the records until ctx is done. It returns after all its
// goroutines have ended. Call it once.
func (m *Store) Run(ctx context.Context) {
	m.recheckStickyTaints(klog.FromContext(ctx))
	var running sync.WaitGroup
	for _, w := range m.watched {
		running.Go(func() { w.run(ctx, m.client) })
	}
	running.Go(func() { m.keepStored(ctx) })
	running.Wait()
}

// observe updates the record of a Node from its current state.
func (m *Store) observe(logger klog.Logger, name string) {
	n := m.nodes.byName[name]
	if !m.isRead || n == nil || n.gone {
		return
	}
	before := m.records[name]
	n.judge(before, m.sticky)
	after := before.observed(n, m.sticky)
	n.recordOverflow(logger, name, after, m.sticky)
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

// same compares the stored fields of two records.
func same(a, b record) bool { return a.version == b.version && a.tells(b) }

// recheckStickyTaints checks all Nodes again if the set of sticky taints has changed.
func (m *Store) recheckStickyTaints(logger klog.Logger) {
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
