// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const text = `Every rule family at the same objects, ours and upstream's plugin in turn, as time on a core. Ours is in parity: the rules beyond upstream are off,
and both look up the same objects in the same indexers. "Hardened" is ours with all of them enforced, which upstream has nothing to set against; a dash says that
they refuse the write. Allocations are those of one answer; "besides" are those of what both sides do alike, that is of looking objects up and of decoding a request
for a certificate.`

// Section measures all cases.
func Section(turns int, turn time.Duration) (section report.Section, err error) {
	section = report.Section{Title: "Writes in process", Text: text}
	timed, err := Prepare(Cases())
	if err != nil {
		return section, err
	}
	measured := Measure(timed, turns, turn)
	section.Rows, section.Tables = summaryOf(measured), []report.Table{tableOf(measured)}
	for i, row := range measured {
		if row.Ratio() <= 1 {
			continue
		}
		profile, err := report.CPUProfile(row.Family+", "+row.Name+", ours", func() { timed[i].Ours() })
		if err != nil {
			return section, err
		}
		section.Profiles = append(section.Profiles, profile)
	}
	return section, nil
}

// summaryOf has for each family the case in which ours does worst, and the most that
// it allocates to admit.
func summaryOf(measured []Row) []report.Row {
	var rows []report.Row
	worst := map[string]int{}
	allocations := report.Row{What: "allocations to admit a write", Bar: most, Format: "%.0f", Low: most}
	for _, m := range measured {
		ratio := report.Row{
			What: m.Family + ", ours ÷ upstream's plugin", Bar: 1, Value: m.Ratio(), Low: slices.Min(m.Ratios), High: slices.Max(m.Ratios),
			Format: "%.2f ×", Note: m.Name,
		}
		if at, known := worst[m.Family]; !known {
			worst[m.Family] = len(rows)
			rows = append(rows, ratio)
		} else if rows[at].Value < ratio.Value {
			rows[at] = ratio
		}
		if m.Admitted {
			count := m.Ours.Allocations - m.Besides
			allocations.Low = min(allocations.Low, count)
			if allocations.Note == "" || allocations.Value < count {
				allocations.Value, allocations.High, allocations.Note = count, count, m.Family+", "+m.Name
			}
		}
	}
	return append(rows, allocations)
}

func tableOf(measured []Row) report.Table {
	table := report.Table{
		Title:  "Writes, by what decides them",
		Header: []string{"rules", "write", "answer", "ours", "upstream", "ours ÷ upstream", "hardened ÷ upstream", "allocations, besides", "upstream's"},
	}
	for _, m := range measured {
		answer, hardened := "refused", "–"
		if m.Admitted {
			answer = "admitted"
		}
		if len(m.Hardening) > 0 {
			hardened = fmt.Sprintf("%.2f ×", median(m.Hardening))
		}
		table.Rows = append(table.Rows, []string{
			m.Family, m.Name, answer, fmt.Sprintf("%.0f ns", m.Ours.Nanoseconds), fmt.Sprintf("%.0f ns", m.Upstream.Nanoseconds),
			fmt.Sprintf("%.2f ×", m.Ratio()), hardened,
			fmt.Sprintf("%.0f, %.0f", m.Ours.Allocations, m.Besides), fmt.Sprintf("%.0f", m.Upstream.Allocations),
		})
	}
	return table
}
