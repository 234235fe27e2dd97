// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const root = "../../../.."

func rulesOf(t *testing.T) *rulefmt.RuleGroups {
	t.Helper()
	groups, err := readRules(root)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// times are the ranges and the offsets of an expression.
var times = regexp.MustCompile(`\[\d+\w+\]|offset \d+\w+`)

// normalized returns an expression as Prometheus prints it, without its times.
func normalized(t *testing.T, text string) string {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return times.ReplaceAllString(expr.String(), "TIME")
}

// The rules of the run differ from those of the file in their times only, and none is longer.
func TestShortened(t *testing.T) {
	groups := rulesOf(t)
	text, err := shortened(groups)
	if err != nil {
		t.Fatal(err)
	}
	short, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	changed := 0
	for i, group := range rulesOf(t).Groups {
		for j, rule := range group.Rules {
			got := short.Groups[i].Rules[j]
			if got.Alert != rule.Alert || normalized(t, got.Expr) != normalized(t, rule.Expr) ||
				fmt.Sprint(got.Labels, got.Annotations) != fmt.Sprint(rule.Labels, rule.Annotations) {
				t.Errorf("rule %+v, want the same as %+v but for its times", got, rule)
			}
			if got.For > rule.For || time.Duration(got.For) > shortFor || rule.For > 0 && got.For == 0 {
				t.Errorf("%s: for %v, was %v", rule.Alert, got.For, rule.For)
			}
			for _, found := range times.FindAllString(got.Expr, -1) {
				text := strings.Trim(strings.TrimPrefix(found, "offset "), "[]")
				if d, err := model.ParseDuration(text); err != nil || time.Duration(d) > shortWindow {
					t.Errorf("%s has the time %s (%v)", rule.Alert, found, err)
				}
				changed++
			}
		}
	}
	if changed < 10 {
		t.Errorf("only %d times in the rules", changed)
	}
}

// Every alert has either a break or a reason why it has none. Every break can be undone, and says
// what it does.
func TestEveryAlertIsCaused(t *testing.T) {
	plan := allPhases(&cluster{controlPlane: "cp", worker: "w"})
	if err := plan.check(rulesOf(t)); err != nil {
		t.Error(err)
	}
	for _, b := range plan.all() {
		if b.broken == "" || b.repaired == "" || b.begin == nil && b.again == nil {
			t.Errorf("%v lacks a text or a break", b.names())
		}
		if (b.begin != nil || b.prepare != nil) && b.repair == nil && b.restore == nil {
			t.Errorf("%v is not repaired", b.names())
		}
	}
}

// The check of the plan fails for an alert without a break, and for a break without an alert.
func TestPlanCheckFails(t *testing.T) {
	groups := rulesOf(t)
	groups.Groups[0].Rules = append(groups.Groups[0].Rules, rulefmt.Rule{Alert: "BulkheadNew"})
	plan := allPhases(&cluster{})
	if err := plan.check(groups); err == nil || !strings.Contains(err.Error(), "BulkheadNew") {
		t.Errorf("error %v, want one about an alert", err)
	}
	plan = append(plan, []track{{{causes: one("BulkheadGone")}}})
	if err := plan.check(rulesOf(t)); err == nil || !strings.Contains(err.Error(), "BulkheadGone") {
		t.Errorf("error %v, want one about the break without an alert", err)
	}
}

func TestOnly(t *testing.T) {
	plan := allPhases(&cluster{})
	chosen := plan.only("BulkheadConfigurationInvalid,BulkheadMetricsAbsent").all()
	if len(chosen) != 2 || !chosen[0].causesAlert("BulkheadMetricsAbsent") ||
		!chosen[1].causesAlert("BulkheadConfigurationInvalid") {
		t.Errorf("%d breaks", len(chosen))
	}
	if got := len(plan.only("").all()); got != len(plan.all()) {
		t.Errorf("%d breaks without a name, want all", got)
	}
}

func TestPodStatus(t *testing.T) {
	pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bulkhead-scope-sync", UID: "u"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse},
		}}}}
	got := podStatus(pods)
	for _, want := range []string{`condition="true"} 0`, `condition="false"} 1`, `condition="unknown"} 0`} {
		if !strings.Contains(got, `kube_pod_status_ready{namespace="kube-system",pod="bulkhead-scope-sync",uid="u",`+want) {
			t.Errorf("no series with %s:\n%s", want, got)
		}
	}
}
