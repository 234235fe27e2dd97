// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The markers of the part of docs/performance.md that this program writes.
const begin, end = "<!-- scale: written by `make bench-scale` -->\n", "<!-- end of scale -->\n"

// measurement is what one number of kubelets has caused.
type measurement struct {
	profile string
	nodes   int
	took    time.Duration
	calls   []summary
	// cores is the use of CPU of each program, and load that of this process.
	cores          map[string]float64
	load           float64
	resident       map[string]int64 // bytes
	denied, failed int
	messages       []string
}

// String has one line for each kind of call and for each program.
func (m measurement) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d kubelets in profile %s: %d calls denied, %d calls failed\n", m.nodes, m.profile, m.denied,
		m.failed)
	for _, c := range m.calls {
		fmt.Fprintf(&out, "  %-28s %6.1f a second, p50 %9s, p99 %9s\n", c.kind, float64(c.calls)/m.took.Seconds(),
			round(c.p50), round(c.p99))
	}
	for _, name := range slices.Sorted(maps.Keys(m.cores)) {
		fmt.Fprintf(&out, "  %-28s %6.2f cores, %d MB\n", name, m.cores[name], m.resident[name]>>20)
	}
	fmt.Fprintf(&out, "  %-28s %6.2f cores\n", "the simulated kubelets", m.load)
	for _, message := range m.messages {
		fmt.Fprintf(&out, "  error: %s\n", message)
	}
	return out.String()
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// page returns the results as the tables of docs/performance.md.
func page(all []measurement) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s, on %s/%s with %d cores, which the simulated kubelets share.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	table(&out, all, "p50 / p99 in ms of", kindsOf(all), func(m measurement, kind string) string {
		for _, c := range m.calls {
			if c.kind == kind {
				return fmt.Sprintf("%s / %s", milliseconds(c.p50), milliseconds(c.p99))
			}
		}
		return ""
	})
	out.WriteByte('\n')
	table(&out, all, "cores / resident memory of", programs, func(m measurement, name string) string {
		if _, runs := m.cores[name]; !runs {
			return ""
		}
		return fmt.Sprintf("%.2f / %d MB", m.cores[name], m.resident[name]>>20)
	})
	out.WriteByte('\n')
	table(&out, all, "in all", []string{"calls a second", "calls denied", "calls failed",
		"cores of the simulated kubelets"}, inAll)
	return out.String()
}

func inAll(m measurement, what string) string {
	switch what {
	case "calls a second":
		calls := 0
		for _, c := range m.calls {
			calls += c.calls
		}
		return fmt.Sprintf("%.0f", float64(calls)/m.took.Seconds())
	case "calls denied":
		return fmt.Sprint(m.denied)
	case "calls failed":
		return fmt.Sprint(m.failed)
	default:
		return fmt.Sprintf("%.2f", m.load)
	}
}

// table writes a table with a column for each number of kubelets, and a row for each kind and profile.
// A row without cells is left out.
func table(out *strings.Builder, all []measurement, title string, rows []string,
	cell func(measurement, string) string) {
	var sizes []string
	profiles := []string{}
	for _, m := range all {
		if size := fmt.Sprintf("%d kubelets", m.nodes); !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
		if !slices.Contains(profiles, m.profile) {
			profiles = append(profiles, m.profile)
		}
	}
	fmt.Fprintf(out, "| %s | %s |\n|---|%s\n", title, strings.Join(sizes, " | "), strings.Repeat("---|", len(sizes)))
	for _, row := range rows {
		for _, profile := range profiles {
			var cells []string
			for _, m := range all {
				if text := cell(m, row); m.profile == profile && text != "" {
					cells = append(cells, text)
				}
			}
			if len(cells) > 0 {
				fmt.Fprintf(out, "| %s, %s | %s |\n", row, profile, strings.Join(cells, " | "))
			}
		}
	}
}

func kindsOf(all []measurement) []string {
	kinds := map[string]bool{}
	for _, m := range all {
		for _, c := range m.calls {
			kinds[c.kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000)
}
