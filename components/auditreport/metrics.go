// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// maxMetricsLine is far above the longest line of a component's metrics.
const maxMetricsLine = 1 << 16

// ReadMetrics reads the metrics of one or more components in Prometheus' text format.
func (r *Report) ReadMetrics(in io.Reader) (LineStats, error) {
	return eachLine(in, maxMetricsLine, func(line []byte) bool {
		series, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte(auditfindings.MetricName+"{"))
		if !found {
			return false
		}
		finding, ok := metricFinding(string(series))
		if ok {
			r.Add(finding)
		}
		return ok
	})
}

// metricFinding reads what comes after the name of the metric: rule="…",user="…"} 3
func metricFinding(series string) (f Finding, ok bool) {
	for !strings.HasPrefix(series, "}") {
		name, rest, found := strings.Cut(series, `="`)
		if !found {
			return f, false
		}
		value, after, found := labelValue(rest)
		if !found {
			return f, false
		}
		switch strings.TrimSpace(name) {
		case "rule":
			f.Rule = rules.ID(value)
		case "user":
			f.User = value
		}
		series = strings.TrimLeft(after, ", ")
	}
	fields := strings.Fields(series[1:])
	if len(fields) == 0 {
		return f, false
	}
	count, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || !(count >= 1) {
		return f, false
	}
	f.Count = int64(min(count, maxCount))
	return f, f.Rule != ""
}

// labelValue returns a value up to its closing quote, without its escapes.
func labelValue(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
			if text[i] == 'n' {
				b.WriteByte('\n')
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}
