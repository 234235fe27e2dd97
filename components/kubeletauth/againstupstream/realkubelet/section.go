// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package realkubelet

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const text = `On a control-plane node of a cluster, one request after the other, from the node's own host: through kubelet-auth-proxy at the node's address with the API server's
client certificate, and to the kubelet on loopback with the proxy's. Without a cluster nothing is measured here; what is needed is in the help of the program.`

// paths are those that are scraped most.
var paths = []string{"/pods", "/metrics/resource", "/stats/summary"}

// Section publishes how much longer the answers of a kubelet take through the proxy. That
// there is no cluster is no error.
func Section(ctx context.Context, _ *sides.World, plan sides.Plan) (report.Section, error) {
	section := report.Section{Title: "A real kubelet", Text: text}
	plan.Say("a real kubelet")
	kubelet, err := measure(ctx, plan)
	if ctx.Err() != nil {
		return section, ctx.Err()
	}
	if err != nil {
		section.Rows = missing(err)
		return section, nil
	}
	section.Rows = rowsOf(kubelet)
	section.Text += " This was a kubelet " + kubelet.version + "."
	return section, nil
}

func measure(ctx context.Context, plan sides.Plan) (*found, error) {
	n, err := findNode(ctx)
	if err != nil {
		return nil, err
	}
	return n.measure(ctx, plan)
}

func what(path string) string { return "the kubelet's " + path + ", ours ÷ direct, p50" }

// missing has the reason beside every path.
func missing(reason error) []report.Row {
	nothing := math.NaN()
	first, _, _ := strings.Cut(reason.Error(), "\n")
	var rows []report.Row
	for _, path := range paths {
		rows = append(rows, report.Row{What: what(path), Bar: report.NoBar, Value: nothing, Low: nothing, High: nothing, Note: "not measured: " + first})
	}
	return rows
}

func rowsOf(kubelet *found) []report.Row {
	var rows []report.Row
	for _, took := range kubelet.took {
		row := report.FromComparison(what(took.Path), report.NoBar, report.Comparison{Ours: took.Proxy, Theirs: took.Direct})
		row.Note = fmt.Sprintf("%.0f µs, direct %.0f µs; %d bytes", took.Proxy.Median(), took.Direct.Median(), took.Bytes)
		rows = append(rows, row)
	}
	return rows
}
