// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

const (
	files     = "../../manifests/monitoring/"
	rulesFile = files + "prometheus/rules.yaml"
)

// promQL parses queries as Prometheus does without feature flags.
var promQL = parser.NewParser(parser.Options{})

// unitTests is the part of the format of `promtool test rules` that the tests of the alerts need.
// promtool itself is not built: with the service discovery of all clouds, it takes many minutes.
type unitTests struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []unitTest     `yaml:"tests"`
}

type unitTest struct {
	Name        string         `yaml:"name"`
	Interval    model.Duration `yaml:"interval"`
	InputSeries []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Exprs []exprTest `yaml:"promql_expr_test"`
}

type exprTest struct {
	Expr     string         `yaml:"expr"`
	EvalTime model.Duration `yaml:"eval_time"`
	Samples  []struct {
		Labels string  `yaml:"labels"`
		Value  float64 `yaml:"value"`
	} `yaml:"exp_samples"`
}

// decodeStrict decodes a file that has no unknown field.
func decodeStrict(t *testing.T, file string, into any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	decoder := yaml.NewDecoder(f)
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// alertNames are the alerts of the rule file, which Prometheus itself validates.
func alertNames(t *testing.T) []string {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, promQL, promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var names []string
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			names = append(names, rule.Alert)
		}
	}
	return names
}

func TestAlerts(t *testing.T) {
	var all unitTests
	decodeStrict(t, "testdata/alerts.yaml", &all)
	fired, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range all.Tests {
		t.Run(test.Name, func(t *testing.T) { test.run(t, time.Duration(all.EvaluationInterval)) })
		name, _, _ := strings.Cut(test.Name, ",")
		for _, expr := range test.Exprs {
			if len(expr.Samples) > 0 {
				fired[name] = true
			}
			// One series that fires is beside another one that does not.
			if len(expr.Samples) < len(test.InputSeries) {
				quiet[name] = true
			}
		}
	}
	for _, name := range alertNames(t) {
		if !fired[name] || !quiet[name] {
			t.Errorf("%s: no test in which it fires, or none in which it does not", name)
		}
	}
}

func (test unitTest) run(t *testing.T, every time.Duration) {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %v\n", test.Interval)
	for _, series := range test.InputSeries {
		fmt.Fprintf(&load, "  %s %s\n", series.Series, series.Values)
	}
	suite, err := promqltest.NewLazyLoader(load.String(),
		promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = suite.Close() }()
	groups := loadGroups(t, suite, every)
	end := slices.MaxFunc(test.Exprs, func(a, b exprTest) int { return cmp.Compare(a.EvalTime, b.EvalTime) }).EvalTime
	start := time.Unix(0, 0).UTC()
	for now := start; !now.After(start.Add(time.Duration(end))); now = now.Add(every) {
		suite.WithSamplesTill(now, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range groups {
				group.Eval(suite.Context(), now)
				checkEvaluated(t, group)
			}
		})
	}
	for _, expr := range test.Exprs {
		expr.check(t, suite, start)
	}
}

func loadGroups(t *testing.T, suite *promqltest.LazyLoader, every time.Duration) map[string]*rules.Group {
	t.Helper()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		AppendableV2: suite.Storage(),
		Context:      t.Context(),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       promslog.NewNopLogger(),
		Parser:       promQL,
	})
	groups, errs := manager.LoadGroups(every, labels.EmptyLabels(), "", nil, false, rulesFile)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, group := range groups {
		for _, rule := range group.Rules() {
			// As promtool does: only then the series ALERTS is written.
			if alert, ok := rule.(*rules.AlertingRule); ok {
				alert.SetRestored(true)
			}
		}
	}
	return groups
}

// checkEvaluated fails if a rule has an error, or an alert has a text with a label that it lacks.
func checkEvaluated(t *testing.T, group *rules.Group) {
	t.Helper()
	for _, rule := range group.Rules() {
		if err := rule.LastError(); err != nil {
			t.Errorf("%s: %v", rule.Name(), err)
		}
		alert, ok := rule.(*rules.AlertingRule)
		if !ok {
			continue
		}
		for _, active := range alert.ActiveAlerts() {
			text := active.Annotations.Get("summary") + "\n" + active.Annotations.Get("description")
			// A label that is missing becomes an empty text: two spaces, or a space before a full stop.
			if strings.Contains(text, "<error") || strings.Contains(text, "no value") || strings.Contains(text, "  ") ||
				strings.Contains(text, " .") || strings.Contains(text, "()") || strings.HasSuffix(text, " ") {
				t.Errorf("%s has the text %q", rule.Name(), text)
			}
		}
	}
}

func (expr exprTest) check(t *testing.T, suite *promqltest.LazyLoader, start time.Time) {
	t.Helper()
	query, err := suite.QueryEngine().NewInstantQuery(t.Context(), suite.Queryable(), nil, expr.Expr,
		start.Add(time.Duration(expr.EvalTime)))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	vector, ok := result.Value.(promql.Vector)
	if result.Err != nil || !ok {
		t.Fatalf("%s: %v, %v", expr.Expr, result.Value, result.Err)
	}
	var got, want []string
	for _, sample := range vector {
		got = append(got, fmt.Sprint(sample.Metric, " ", sample.F))
	}
	for _, sample := range expr.Samples {
		metric, err := promQL.ParseMetric(sample.Labels)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(metric, " ", sample.Value))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s at %v:\ngot  %s\nwant %s", expr.Expr, expr.EvalTime, strings.Join(got, "\n     "),
			strings.Join(want, "\n     "))
	}
}
