// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/reporters"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// report writes JUnit, the rule table, and the results for a NodeIsolationReport.
func (s *Suite) report(ctx ginkgo.SpecContext, report ginkgo.Report) {
	if report.SuiteConfig.DryRun || len(specs(report)) == 0 {
		return
	}
	settings, err := ReadSettings()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	base := filepath.Join(settings.Artifacts, s.Name)
	table := RuleTable(report, s.Rules, settings.Profile)
	gomega.Expect(writeFile(base+".rules.md", table)).To(gomega.Succeed())
	gomega.Expect(reporters.GenerateJUnitReport(report, base+".junit.xml")).To(gomega.Succeed())
	results := s.results(report, settings.Profile)
	s.describeCluster(ctx, results)
	gomega.Expect(results.Write(base + isolationreport.ResultsSuffix)).To(gomega.Succeed())
}

// RuleTable returns what a run proved, in readable form. It has a row for each rule that the suite
// names, then each skipped spec with the reason, then the measurements.
func RuleTable(report types.Report, all []rules.Rule, profile Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s on profile %s\n\n", report.SuiteDescription, profile)
	fmt.Fprintf(&b, "%s, in %s. %s\n\n", report.StartTime.UTC().Format(time.RFC3339), report.RunTime.Round(time.Second),
		summary(report))
	if len(all) > 0 {
		b.WriteString("| rule | description | allow | deny |\n|---|---|---|---|\n")
		for _, rule := range all {
			if named(report, rule.ID) {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", rule.ID, rule.Description,
					proved(report, all, rule.ID, Allow, profile), proved(report, all, rule.ID, Deny, profile))
			}
		}
	}
	section(&b, "Failed", failures(report))
	section(&b, "Skipped", skips(report))
	section(&b, "Measured", measurements(report))
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", line)
	}
}

func specs(report types.Report) []types.SpecReport {
	var all []types.SpecReport
	why := suiteSkipped(report)
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType != types.NodeTypeIt {
			continue
		}
		if why != "" && filteredOut(spec) {
			spec.Failure.Message = why
		}
		if !filteredOut(spec) {
			all = append(all, spec)
		}
	}
	return all
}

// suiteSkipped returns why the setup of the suite skipped all specs. It is empty if it did not.
func suiteSkipped(report types.Report) string {
	for _, node := range report.SpecReports {
		if node.LeafNodeType.Is(types.NodeTypeBeforeSuite|types.NodeTypeSynchronizedBeforeSuite) &&
			node.State == types.SpecStateSkipped && node.Failure.Message != "" {
			return node.Failure.Message
		}
	}
	return ""
}

// filteredOut reports whether the Ginkgo filter excluded the spec. A spec that skipped itself has a
// message.
func filteredOut(spec types.SpecReport) bool {
	return spec.State == types.SpecStateSkipped && spec.Failure.Message == ""
}

func summary(report types.Report) string {
	counts := map[types.SpecState]int{}
	failed := 0
	for _, spec := range specs(report) {
		counts[spec.State]++
		if spec.Failed() {
			failed++
		}
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", counts[types.SpecStatePassed], failed,
		counts[types.SpecStateSkipped])
}

// named reports whether a spec of the suite claims an outcome of the rule.
func named(report types.Report, id rules.ID) bool {
	return slices.ContainsFunc(report.SpecReports, func(spec types.SpecReport) bool {
		claim := ReadClaim(spec.Labels())
		return claim.Off == id || slices.Contains(claim.Rules, id)
	})
}

// tally counts the results of the specs that claim one outcome of one rule.
type tally struct {
	passed, failed, whileOff int
	why                      string
}

// proved returns a cell of the table: how many specs claim this outcome of the rule, and their
// results.
func proved(report types.Report, all []rules.Rule, id rules.ID, want Want, profile Profile) string {
	var t tally
	for _, spec := range specs(report) {
		claim := ReadClaim(spec.Labels())
		off := claim.Off != "" && isOff(claim, all, profile)
		switch {
		case claim.Off == id && want == Allow && off:
			t.add(spec, false)
		case claim.Off == id && want == Allow:
			t.why = fmt.Sprintf("refused by %s", claim.By)
		case claim.Want == want && slices.Contains(claim.Rules, id):
			t.add(spec, off)
		}
	}
	return t.String()
}

// isOff reports whether the rule of the claim is not in force.
func isOff(claim Claim, all []rules.Rule, profile Profile) bool {
	return slices.ContainsFunc(all, func(rule rules.Rule) bool {
		return rule.ID == claim.By && !InForce(rule, profile)
	})
}

func (t *tally) add(spec types.SpecReport, off bool) {
	switch {
	case spec.Failed():
		t.failed++
	case spec.State != types.SpecStatePassed:
		t.why = "skipped: " + spec.Failure.Message
	case off:
		t.whileOff++
	default:
		t.passed++
	}
}

func (t *tally) String() string {
	switch {
	case t.failed > 0:
		return fmt.Sprintf("✗ %d of %d", t.failed, t.failed+t.passed+t.whileOff)
	case t.passed > 0:
		return fmt.Sprintf("✓ %d", t.passed)
	case t.whileOff > 0:
		return fmt.Sprintf("off: allowed %d", t.whileOff)
	case t.why != "":
		return t.why
	}
	return "not run"
}

func failures(report types.Report) []string {
	var lines []string
	for _, spec := range report.SpecReports {
		if spec.Failed() {
			lines = append(lines, fmt.Sprintf("%s: %s", title(spec), firstLine(spec.Failure.Message)))
		}
	}
	return lines
}

func skips(report types.Report) []string {
	var lines []string
	for _, spec := range specs(report) {
		if spec.State == types.SpecStateSkipped {
			lines = append(lines, fmt.Sprintf("%s: %s", title(spec), spec.Failure.Message))
		}
	}
	return lines
}

func title(spec types.SpecReport) string {
	if text := spec.FullText(); text != "" {
		return text
	}
	return spec.LeafNodeType.String()
}

func measurements(report types.Report) []string {
	var lines []string
	for _, name := range []string{TimeToAllow, TimeToRefuse} {
		if all := durations(report, name); len(all) > 0 {
			lines = append(lines, fmt.Sprintf("%s: p50 %s, p99 %s, longest %s, of %d",
				name, percentile(all, 50), percentile(all, 99), all[len(all)-1].Round(time.Millisecond), len(all)))
		}
	}
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if what, ok := strings.CutPrefix(entry.Name, measurementEntry); ok {
				lines = append(lines, what+": "+entry.StringRepresentation())
			}
		}
	}
	return lines
}

// percentile returns a percentile of sorted durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)-1)*p/100].Round(time.Millisecond)
}
