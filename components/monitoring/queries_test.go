// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// others are series of other programs, with their labels: Prometheus, kube-apiserver and
// kube-state-metrics.
var others = map[string][]string{
	"up": {},
	"apiserver_authorization_webhook_evaluations_fail_open_total":            {"name", "result"},
	"apiserver_admission_webhook_fail_open_count":                            {"name", "type"},
	"apiserver_manifest_admission_config_controller_automatic_reloads_total": {"plugin", "status"},
	"kube_pod_status_ready": {"namespace", "pod", "condition"},
}

// rare are series of Bulkhead that a program has only after a failure that this test does not cause.
// Their names must be in the source.
var rare = map[string][]string{"bulkhead_live_reads_refused_total": {"reason"}}

// series is what the programs serve.
type series struct {
	storage *teststorage.TestStorage
	// labels are the labels of each name.
	labels map[string]map[string]bool
}

const (
	scrapes        = 10
	scrapeInterval = time.Minute
)

// scrape parses the metrics with the parser of Prometheus' scraper, and stores them as if they were
// scraped for some minutes.
func scrape(t *testing.T, pages map[string]string) series {
	t.Helper()
	s := series{storage: teststorage.New(t), labels: map[string]map[string]bool{}}
	for name, names := range others {
		s.add(name, names)
	}
	for name, names := range rare {
		s.add(name, names)
	}
	appender := s.storage.Appender(t.Context())
	for job, page := range pages {
		target := labels.FromStrings("job", job, "node", "n", "instance", "192.0.2.1:10250")
		s.store(t, appender, target, page)
		appendAll(t, appender, labels.NewBuilder(target).Set("__name__", "up").Labels(), 1)
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
	return s
}

// store stores the metrics of one target.
func (s series) store(t *testing.T, appender storage.Appender, target labels.Labels, page string) {
	t.Helper()
	parse, err := textparse.New([]byte(page), "text/plain; version=0.0.4", labels.NewSymbolTable(),
		textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		entry, err := parse.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var metric labels.Labels
		_, _, value := parse.Series()
		parse.Labels(&metric)
		metric.Range(func(l labels.Label) { s.add(metric.Get("__name__"), []string{l.Name}) })
		builder := labels.NewBuilder(metric)
		target.Range(func(l labels.Label) { builder.Set(l.Name, l.Value) })
		appendAll(t, appender, builder.Labels(), value)
	}
}

// appendAll stores the same value for each scrape.
func appendAll(t *testing.T, appender storage.Appender, metric labels.Labels, value float64) {
	t.Helper()
	for i := range scrapes {
		if _, err := appender.Append(0, metric, int64(i)*scrapeInterval.Milliseconds(), value); err != nil {
			t.Fatal(err)
		}
	}
}

// add also adds the labels of a target.
func (s series) add(name string, names []string) {
	if s.labels[name] == nil {
		s.labels[name] = map[string]bool{"__name__": true, "job": true, "node": true, "instance": true}
	}
	for _, label := range names {
		s.labels[name][label] = true
	}
}

// alertQueries are the expressions of the alerts, by name.
func alertQueries(t *testing.T) map[string]string {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, promQL, promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	queries := map[string]string{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			queries[rule.Alert] = rule.Expr
		}
	}
	return queries
}

// Every query of the alerts and of the dashboard names only series and labels that the programs
// have, and Prometheus evaluates it on them.
func TestQueries(t *testing.T) {
	served := scrape(t, startAll(t))
	alerts, panels := alertQueries(t), dashboardQueries(t)
	for name, query := range alerts {
		t.Run(name, func(t *testing.T) {
			served.check(t, query)
			// A certificate of the test lasts for an hour, and its revocation list for less than a day.
			if got := served.evaluate(t, query); got != "" && name != "BulkheadCertificateExpires" &&
				name != "BulkheadKubeletCRLExpires" {
				t.Errorf("fires in a healthy cluster: %s", got)
			}
		})
	}
	for name, query := range panels {
		t.Run(name, func(t *testing.T) {
			served.check(t, query)
			query, _ = strings.CutSuffix(query, " > 0")
			if served.evaluate(t, query) == "" {
				t.Errorf("%s: no data", query)
			}
		})
	}
	if len(alerts) < 20 || len(panels) < 20 {
		t.Errorf("%d alerts, %d queries of panels", len(alerts), len(panels))
	}
}

// check looks for every name and every label of a query in what the programs serve.
func (s series) check(t *testing.T, query string) {
	t.Helper()
	expr, err := promQL.ParseExpr(query)
	if err != nil {
		t.Fatal(err)
	}
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		known := s.labels[selector.Name]
		if known == nil {
			t.Errorf("no program serves %s", selector.Name)
			return nil
		}
		wanted := map[string]bool{}
		for _, matcher := range selector.LabelMatchers {
			wanted[matcher.Name] = true
		}
		for i, above := range path {
			switch above := above.(type) {
			case *parser.AggregateExpr:
				for _, label := range above.Grouping {
					wanted[label] = true
				}
			case *parser.BinaryExpr:
				// The right side of `and` and `unless` gives the result no labels.
				isSet := above.Op == parser.LAND || above.Op == parser.LUNLESS
				if isSet && slices.Contains(slices.Concat(path[i:], []parser.Node{node}), parser.Node(above.RHS)) {
					return nil
				}
			}
		}
		for label := range wanted {
			if !known[label] {
				t.Errorf("%s has no label %s, but %v", selector.Name, label, slices.Sorted(maps.Keys(known)))
			}
		}
		return nil
	})
}

// evaluate returns the result of a query at the last scrape, or "" if it is empty.
func (s series) evaluate(t *testing.T, query string) string {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	at := time.Unix(0, 0).Add((scrapes - 1) * scrapeInterval)
	q, err := engine.NewInstantQuery(t.Context(), s.storage, nil, query, at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	result := q.Exec(t.Context())
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	return strings.TrimSpace(result.String())
}

// A series that is not seen in the test must exist in the source of the programs.
func TestRareSeriesAreInTheSource(t *testing.T) {
	missing := maps.Clone(rare)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for name := range missing {
			if strings.Contains(string(text), fmt.Sprintf("%q", name)) {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("not in the source: %v (%v)", missing, err)
	}
}
