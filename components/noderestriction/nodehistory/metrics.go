// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import "k8s.io/component-base/metrics"

// collector reports the size of the history when metrics are read.
type collector struct {
	metrics.BaseStableCollector
	memory                                             *Store
	records, bytes, waiting, full, absent, overflowing *metrics.Desc
}

func (m *Store) register(registry metrics.KubeRegistry) {
	m.writes = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "bulkhead_node_memory_writes_total",
		Help: "Writes of the node history, by result (ok, conflict, error).",
	}, []string{"result"})
	registry.MustRegister(m.writes)
	gauge := func(name, help string) *metrics.Desc {
		return metrics.NewDesc("bulkhead_node_memory_"+name, help, nil, nil, metrics.ALPHA, "")
	}
	registry.CustomMustRegister(&collector{
		memory:  m,
		records: gauge("records", "Nodes of which sticky taints are remembered."),
		bytes:   gauge("bytes", "Bytes that are stored of them; 786432 is the most."),
		waiting: gauge("unwritten", "Nodes of which something new is not stored yet."),
		full:    gauge("no_room", "Nodes of which something new cannot be stored for lack of room."),
		absent:  gauge("absent", "Nodes that were registered again without a sticky taint that they had."),
		overflowing: gauge("crowded",
			"Nodes with a sticky taint that is not remembered, because their 64 places, or the 16 for what they came with, "+
				"are taken."),
	})
}

func (c *collector) DescribeWithStability(out chan<- *metrics.Desc) {
	for _, desc := range []*metrics.Desc{c.records, c.bytes, c.waiting, c.full, c.absent, c.overflowing} {
		out <- desc
	}
}

func (c *collector) CollectWithStability(out chan<- metrics.Metric) {
	m := c.memory
	m.mu.RLock()
	defer m.mu.RUnlock()
	noSpace, absent, overflowing := 0, 0, 0
	for _, w := range m.waiting {
		if w.noSpace {
			noSpace++
		}
	}
	for _, r := range m.records {
		if len(r.absent) > 0 {
			absent++
		}
	}
	for _, n := range m.nodes.byName {
		if n.dropped > 0 && !n.gone {
			overflowing++
		}
	}
	for desc, value := range map[*metrics.Desc]int{
		c.records: len(m.records), c.bytes: m.bytes, c.waiting: len(m.waiting), c.full: noSpace, c.absent: absent,
		c.overflowing: overflowing,
	} {
		out <- metrics.NewLazyConstMetric(desc, metrics.GaugeValue, float64(value))
	}
}
