// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFlat(t *testing.T) {
	steady := []float64{10, 40, 50, 50, 50, 50, 51, 50}
	for _, test := range []struct {
		name     string
		quantity Quantity
		values   []float64
		flat     bool
	}{
		{"steady after the start", Memory, steady, true},
		{"within the slack", Memory, []float64{0, 0, 40, 40, 50, 50, 56, 56}, true},
		{"beyond the slack, within the relative growth", Memory, []float64{0, 0, 400, 400, 400, 400, 450, 450}, true},
		{"beyond both", Memory, []float64{0, 0, 100, 100, 110, 110, 117, 117}, false},
		{"descriptors beyond both", Descriptors, []float64{0, 0, 20, 20, 25, 25, 31, 31}, false},
		{"goroutines within the slack", Goroutines, []float64{0, 0, 20, 20, 25, 25, 31, 31}, true},
		{"too few samples", Memory, steady[1:], false},
	} {
		series := Series{Process: "p", Quantity: test.quantity, Values: test.values}
		if err := series.Flat(); (err == nil) != test.flat {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestSoakIsAFigure(t *testing.T) {
	soak := Soak{Lasted: 4 * time.Minute, Machine: "2 cores", Kubernetes: "v1", Churn: "pods <all the time>"}
	for i := range 4 {
		after := time.Duration(i+1) * time.Minute
		soak.Add("node-authorizer", Memory, after, float64(30+i))
		soak.Add("node-authorizer", Goroutines, after, 12)
	}
	file := filepath.Join(t.TempDir(), "soak.json")
	if err := soak.Write(file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadSoak(file)
	if err != nil {
		t.Fatal(err)
	}
	svg := read.SVG()
	if svg != soak.SVG() {
		t.Error("another figure after writing and reading")
	}
	if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
		t.Errorf("no valid XML: %v\n%s", err, svg)
	}
	if got := strings.Count(svg, "<polyline"); got != 2 {
		t.Errorf("%d lines", got)
	}
}
