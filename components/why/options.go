// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// optionsOf returns what an administrator can change about a rule that denied the request.
func optionsOf(id rules.ID, r *Request, message string) []Option {
	f := auditreport.Finding{Rule: id, Reason: message}
	if r != nil {
		f.User, f.Namespace = r.User, r.Namespace
	}
	if rule, _ := rulebook.Find(id); rule.Audited { // it denies, so the operator has named it
		modes := auditreport.Field{Path: "rules.modes." + string(id), Value: rules.Audit.String()}
		return Options(id, auditreport.Setting{Fields: []auditreport.Field{modes},
			Remedy: "The rule denies only because rules.modes names it. " + auditreport.Alternative(id)})
	}
	return Options(id, auditreport.SettingOf(f))
}

// Options returns a setting as options. The mode of the rule is the last one: it gives up the rule for every
// request.
func Options(id rules.ID, setting auditreport.Setting) []Option {
	var options []Option
	rule, _ := rulebook.Find(id)
	gives := setting.GivesUp
	for _, field := range setting.Fields {
		options = append(options, Option{Setting: field.String(), GivesUp: gives})
		gives = ""
	}
	for _, text := range []string{setting.Then, setting.Remedy} {
		if text != "" {
			options = append(options, Option{Text: text})
		}
	}
	if rule.HasMode() && !strings.Contains(string(id), "-REVOKE-") {
		command := fmt.Sprintf("bulkhead install --rule-mode=%s=audit", id)
		if id == "NR-STICKY-1" {
			// NR-STICKY-2 would deny the later writes of a node that registers without its taints.
			command += ",NR-STICKY-2=audit"
		}
		options = append(options, Option{Command: command})
	}
	return options
}

// prefixed returns the options with the prefix before each sentence.
func prefixed(prefix string, options []Option) []Option {
	for i := range options {
		if options[i].Text != "" {
			options[i].Text = prefix + options[i].Text
		}
	}
	return options
}

// relationOption returns the object that must exist so that the node may read the object.
func relationOption(node string, o object) Option {
	node = webhook.Loggable(node)
	thing := o.String()
	switch o.kind {
	case kindOfNodes:
		return Option{Text: fmt.Sprintf("The %s must name node %s.", thing, node)}
	case kindOfSecrets:
		return Option{Text: fmt.Sprintf("A pod that is bound to node %s must use %s, itself or through a persistent volume.",
			node, thing)}
	case kindOfVolumes:
		return Option{Text: fmt.Sprintf("A pod that is bound to node %s must use the claim of %s.", node, thing)}
	case kindOfPods:
	}
	return Option{Text: fmt.Sprintf("A pod that is bound to node %s must use %s.", node, thing)}
}
