// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/e2e/reliability"
)

// resultsPath is the file in the checkout with the results that docs/alerts.md shows.
const resultsPath = "components/monitoring/cmd/alerts/testdata/results.json"

// recorded are results as they are stored. The page is made from them and from the plan. Times are in
// seconds.
type recorded struct {
	Date       string `json:"date"`
	Minutes    int    `json:"minutes"`
	Kubernetes string `json:"kubernetes"`
	Prometheus string `json:"prometheus"`
	Machine    string `json:"machine"`
	// Rows are in the order of their alerts.
	Rows   []recordedRow    `json:"rows"`
	Others []recordedFiring `json:"others,omitempty"`
}

// recordedRow is the result of a break for one alert. Fired and Resolved are 0 if it failed.
type recordedRow struct {
	// Alert is the alert with its labels, as in [cause.String].
	Alert    string `json:"alert"`
	Fired    int    `json:"fired"`
	Resolved int    `json:"resolved"`
	// Again is true if the first attempt failed.
	Again bool `json:"again,omitempty"`
	// LaterRun is the date of the run of only some alerts that this row is of. It is empty for the whole run.
	LaterRun string `json:"laterRun,omitempty"`
}

// recordedFiring is an alert that fired outside of its own break.
type recordedFiring struct {
	Alert  string            `json:"alert"`
	Labels map[string]string `json:"labels"`
	// After is the time after the start of the run.
	After int `json:"after"`
	For   int `json:"for"`
}

// record returns what is stored of a run.
func (r *result) record() *recorded {
	stored := &recorded{
		Date: r.began.UTC().Format(time.DateOnly), Minutes: int(r.lasted.Round(time.Minute).Minutes()),
		Kubernetes: r.kubernetes, Prometheus: r.prometheus, Machine: reliability.Machine(),
	}
	for _, row := range r.rows {
		stored.Rows = append(stored.Rows, recordedRow{Alert: row.cause.String(), Fired: wholeSeconds(row.fired),
			Resolved: wholeSeconds(row.resolved), Again: row.again})
	}
	for _, f := range r.others {
		stored.Others = append(stored.Others, recordedFiring{Alert: f.name, Labels: f.labels,
			After: int(f.begin.Sub(r.began).Round(time.Second).Seconds()),
			For:   int(f.end.Sub(f.begin).Round(time.Second).Seconds())})
	}
	return stored
}

// wholeSeconds is 0 only for no time at all.
func wholeSeconds(d time.Duration) int {
	if d <= 0 {
		return 0
	}
	return max(1, int(d.Round(time.Second).Seconds()))
}

// replace replaces the rows of the alerts in a later run of some alerts.
func (r *recorded) replace(later *recorded) error {
	if r.Kubernetes != later.Kubernetes || r.Prometheus != later.Prometheus || r.Machine != later.Machine {
		return fmt.Errorf("cannot add to the results of Kubernetes %s, Prometheus %s, %s: the run was on Kubernetes %s, "+
			"Prometheus %s, %s; run all alerts: make alerts", r.Kubernetes, r.Prometheus, r.Machine, later.Kubernetes,
			later.Prometheus, later.Machine)
	}
	for _, row := range later.Rows {
		row.LaterRun = later.Date
		r.Rows = slices.DeleteFunc(r.Rows, func(old recordedRow) bool { return old.Alert == row.Alert })
		r.Rows = append(r.Rows, row)
	}
	r.Others = append(r.Others, later.Others...)
	slices.SortStableFunc(r.Rows, func(a, b recordedRow) int { return cmp.Compare(a.Alert, b.Alert) })
	return nil
}

func readRecorded(root string) (*recorded, error) {
	text, err := os.ReadFile(filepath.Join(root, resultsPath))
	if err != nil {
		return nil, fmt.Errorf("cannot read the results of the last run: %w; run make alerts", err)
	}
	var r recorded
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("cannot read the results in %s: %w; run make alerts", resultsPath, err)
	}
	return &r, nil
}

// write writes the results and the page.
func (r *recorded) write(root, page string, plan phases) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(root, resultsPath)
	return errors.Join(
		os.MkdirAll(filepath.Dir(file), 0o755),                //nolint:gosec // a folder of the checkout
		os.WriteFile(file, append(text, '\n'), 0o644),         //nolint:gosec // a file of the checkout
		os.WriteFile(page, []byte(r.page(plan.all())), 0o644)) //nolint:gosec // a page of the docs
}
