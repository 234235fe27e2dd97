// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package dashboard draws the panels of a Grafana dashboard as one SVG, from the results that
// Prometheus returns for their queries. It knows the panel types of Bulkhead's dashboard only:
// timeseries, stat and bargauge.
package dashboard

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Panel is what a picture needs of a panel in Grafana's format.
type Panel struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	GridPos     Grid     `json:"gridPos"`
	Targets     []Target `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// Grid is the place of a panel. A dashboard is 24 columns wide.
type Grid struct{ H, W, X, Y int }

// Target is a query of a panel.
type Target struct {
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
	Instant      bool   `json:"instant"`
}

// Parse reads a dashboard in Grafana's format.
func Parse(text []byte) (title string, panels []Panel, err error) {
	var d struct {
		Title  string  `json:"title"`
		Panels []Panel `json:"panels"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return "", nil, fmt.Errorf("cannot read the dashboard: %w", err)
	}
	return d.Title, d.Panels, nil
}

// Query returns the query of a target with values for Grafana's variables: all nodes, the window of
// rates, and the length of the time that is shown.
func (t Target) Query(window, shown time.Duration) string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }
	return strings.NewReplacer("$__rate_interval", seconds(window), "$__range", seconds(shown), "$node", ".*").
		Replace(t.Expr)
}

var legendLabel = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// Legend returns the name of a series with these labels. A label that the series lacks is empty.
func (t Target) Legend(labels map[string]string) string {
	name := legendLabel.ReplaceAllStringFunc(t.LegendFormat, func(found string) string {
		return labels[legendLabel.FindStringSubmatch(found)[1]]
	})
	return strings.Join(strings.Fields(name), " ")
}

// Series are the values of one series of a panel, in the order of time.
type Series struct {
	Name   string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// Figure is a dashboard with the results of its queries.
type Figure struct {
	Title, Subtitle string
	Begin, End      time.Time
	Panels          []Panel
	// Results has the series of each panel, by the index in Panels.
	Results map[int][]Series
}
