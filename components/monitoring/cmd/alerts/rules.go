// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const (
	// scrapeInterval is also the interval in which the rules are evaluated.
	scrapeInterval = 5 * time.Second
	// shortFor replaces each longer `for`: three evaluations.
	shortFor = 15 * time.Second
	// shortWindow replaces each longer range and offset.
	shortWindow = 45 * time.Second

	rulesPath  = "manifests/monitoring/prometheus/rules.yaml"
	scrapePath = "manifests/monitoring/prometheus/scrape.yaml"
)

// readRules reads the rule file as Prometheus does.
func readRules(root string) (*rulefmt.RuleGroups, error) {
	text, err := os.ReadFile(filepath.Join(root, rulesPath))
	if err != nil {
		return nil, err
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		promslog.NewNopLogger())
	if len(errs) > 0 {
		return nil, fmt.Errorf("cannot read %s: %w", rulesPath, errs[0])
	}
	return groups, nil
}

// shortened returns a rule file with shorter times: `for`, ranges and offsets. Nothing else differs:
// the thresholds and the series are those of the file.
func shortened(groups *rulefmt.RuleGroups) ([]byte, error) {
	short := rulefmt.RuleGroups{}
	for _, group := range groups.Groups {
		var rules []rulefmt.Rule
		for _, rule := range group.Rules {
			expr, err := shortExpression(rule.Expr)
			if err != nil {
				return nil, fmt.Errorf("cannot shorten the times of %s: %w", rule.Alert, err)
			}
			rule.Expr = expr
			rule.For = min(rule.For, model.Duration(shortFor))
			rules = append(rules, rule)
		}
		group.Rules = rules
		short.Groups = append(short.Groups, group)
	}
	return yaml.Marshal(short)
}

// shortExpression limits each range and each offset of an expression to shortWindow.
func shortExpression(text string) (string, error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return "", err
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.MatrixSelector:
			node.Range = min(node.Range, shortWindow)
		case *parser.VectorSelector:
			node.OriginalOffset = min(node.OriginalOffset, shortWindow)
		}
		return nil
	})
	return expr.String(), nil
}
