// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// inTree is the profile of a cluster without Bulkhead.
const inTree = "in-tree"

// ran is a spec and the suite that it belongs to.
type ran struct {
	Spec
	suite   string
	started time.Time
}

func (r ran) name() string { return strings.Join(append(slices.Clone(r.Container), r.Text), " ") }

// Build makes a report from the results of one cluster, or of several clusters of one profile and
// version. If a spec ran twice, the later result counts. The same results give the same report.
func Build(groups []Group, results []Results) (*api.NodeIsolationReport, error) {
	results = withClaims(results)
	if err := checkSame(results); err != nil {
		return nil, err
	}
	specs := latest(results)
	if err := checkRules(groups, specs); err != nil {
		return nil, err
	}
	report := &api.NodeIsolationReport{
		APIVersion: api.APIVersion, Kind: api.Kind, Metadata: metadata(results), Attacks: attacks(specs),
		Runs: runs(results),
	}
	byRule := map[rules.ID][]ran{}
	for _, spec := range specs {
		for _, id := range spec.rules() {
			byRule[id] = append(byRule[id], spec)
		}
	}
	for _, group := range groups {
		for _, rule := range group.Rules {
			report.Rules = append(report.Rules, ruleResult(group.Name, rule, report.Metadata.Profile, byRule[rule.ID]))
		}
	}
	for _, group := range groups {
		counts := api.Count(report.Rules, group.Name)
		report.Profiles = append(report.Profiles, api.Profile{Name: group.Name, Rules: counts, Verdict: groupVerdict(counts)})
	}
	report.Summary = api.Summary{Rules: api.Count(report.Rules, ""), Attacks: api.CountAttacks(report.Attacks)}
	report.Summary.Verdict = verdict(report)
	return report, report.Validate()
}

// withClaims returns the results with specs that name a rule or an attack, without other specs.
func withClaims(all []Results) (kept []Results) {
	for _, r := range all {
		r.Specs = slices.DeleteFunc(slices.Clone(r.Specs), func(s Spec) bool { return len(s.Rules) == 0 && s.Attack == "" })
		if len(r.Specs) > 0 {
			kept = append(kept, r)
		}
	}
	slices.SortStableFunc(kept, func(a, b Results) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Suite, b.Suite))
	})
	return kept
}

// checkSame returns an error if the results are of different profiles or versions.
func checkSame(all []Results) error {
	if len(all) == 0 {
		return ErrNoResults
	}
	for _, field := range []struct {
		what  string
		value func(Results) string
	}{
		{"profiles", func(r Results) string { return r.Profile }},
		{"versions of Bulkhead", func(r Results) string { return r.BulkheadVersion }},
		{"versions of Kubernetes", func(r Results) string { return r.KubernetesVersion }},
	} {
		suites := map[string]string{}
		for _, r := range all {
			suites[field.value(r)] = r.Suite
		}
		if len(suites) > 1 {
			var found []string
			for _, value := range slices.Sorted(maps.Keys(suites)) {
				found = append(found, fmt.Sprintf("%q (suite %s)", clean(value, 80), clean(suites[value], 80)))
			}
			return fmt.Errorf("the results are of different %s: %s; run all suites again", field.what, strings.Join(found, ", "))
		}
	}
	return nil
}

// latest returns every spec once, in the order of suite and name.
func latest(all []Results) []ran {
	// All results are of one version, so a spec that runs again has the same line. The names of two entries of a
	// table may be equal, and a label filter may select only one of them.
	type key struct {
		suite, name string
		line        int
	}
	found := map[key]ran{}
	for _, r := range all { // in the order of time
		// Entries that a loop makes have one line, too.
		seen := map[key]int{}
		for _, spec := range r.Specs {
			one := ran{Spec: spec, suite: r.Suite, started: r.Started}
			at := key{r.Suite, one.name(), one.Line}
			seen[at]++
			if n := seen[at]; n > 1 {
				at.name += fmt.Sprintf(" (%d)", n)
			}
			found[at] = one
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.suite, b.suite), cmp.Compare(a.name, b.name), cmp.Compare(a.line, b.line))
	})
	specs := make([]ran, 0, len(keys))
	for _, k := range keys {
		specs = append(specs, found[k])
	}
	return specs
}

// rules returns the rules that the spec is evidence for.
func (r ran) rules() []rules.ID {
	ids := slices.Clone(r.Rules)
	allows := r.By
	if r.Want == Deny {
		allows = r.Off
	}
	if r.Expected == Allow && allows != "" && !slices.Contains(ids, allows) {
		ids = append(ids, allows)
	}
	return ids
}

func checkRules(groups []Group, specs []ran) error {
	known := map[rules.ID]bool{}
	for _, group := range groups {
		for _, rule := range group.Rules {
			known[rule.ID] = true
		}
	}
	var errs []error
	for _, spec := range specs {
		for _, id := range spec.Rules {
			if !known[id] {
				known[id] = true // once is enough
				errs = append(errs, fmt.Errorf("suite %s names the rule %q, which this version does not have; run the suite again",
					clean(spec.suite, 80), clean(string(id), 80)))
			}
		}
	}
	return errors.Join(errs[:min(len(errs), 20)]...)
}

func metadata(all []Results) api.Metadata {
	largest, started, finished := all[0], all[0].Started, all[0].Started
	for _, r := range all {
		if len(r.Specs) > len(largest.Specs) {
			largest = r
		}
		if r.Started.Before(started) {
			started = r.Started
		}
		if end := r.Started.Add(r.Duration); end.After(finished) {
			finished = end
		}
	}
	return api.Metadata{
		Started: seconds(started), Finished: seconds(finished), Profile: clean(largest.Profile, maxName),
		BulkheadVersion:   clean(largest.BulkheadVersion, maxName),
		KubernetesVersion: clean(largest.KubernetesVersion, maxName),
		Nodes:             largest.Nodes, Platform: clean(largest.Platform, maxName),
	}
}

func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

func runs(all []Results) (list []api.Run) {
	for _, r := range all {
		run := api.Run{
			Suite: clean(r.Suite, maxName), Started: seconds(r.Started), Nodes: r.Nodes,
			Duration: metav1.Duration{Duration: r.Duration.Round(time.Second)},
		}
		for _, spec := range r.Specs {
			switch spec.State {
			case Passed:
				run.Passed++
			case Failed, TimedOut:
				run.Failed++
			case Skipped:
				run.Skipped++
			}
		}
		list = append(list, run)
	}
	return list
}

// Missing returns the rules that the report proves nothing about, because no spec of them is in the
// results.
func Missing(r *api.NodeIsolationReport) (ids []string) {
	for _, rule := range r.Rules {
		if rule.Result == api.NotProved && len(rule.Evidence) == 0 {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}
