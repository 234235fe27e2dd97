// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Setting is what an administrator can do so that the requests are still allowed under enforce.
type Setting struct {
	// Fields are the fields of the Installation that allow the requests. They are empty if no field
	// does.
	Fields []Field `json:"fields,omitempty"`
	// Incomplete is true if the source does not show all keys that the fields need.
	Incomplete bool `json:"incomplete,omitempty"`
	// GivesUp describes the requests that Bulkhead allows because of this setting.
	GivesUp string `json:"givesUp,omitempty"`
	// Then is a step that is needed after the fields are set, in sentences.
	Then string `json:"then,omitempty"`
	// Remedy is what else solves the problem, in sentences.
	Remedy string `json:"remedy,omitempty"`
}

// Field is a change of one field of an Installation: a value, or entries of a list.
type Field struct {
	// Path has the names of the fields, separated by dots.
	Path   string   `json:"path"`
	Value  string   `json:"value,omitempty"`
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
	// narrows is true for a list whose absence allows more than any list.
	narrows bool
}

// String returns the field as YAML on one line, or what to remove from it.
func (f Field) String() string {
	switch {
	case len(f.Remove) > 0:
		return "remove " + installation.List(f.Remove) + " from " + f.Path
	case len(f.Add) > 0:
		return installation.Setting(f.Path, installation.List(f.Add))
	}
	return installation.Setting(f.Path, f.Value)
}

// details are what the findings of one entry have in common.
type details struct {
	keys, namespaces []string
	incomplete       bool
	// account is the ServiceAccount, as NAMESPACE/NAME. It is empty if no account or several made
	// the requests.
	account string
}

// listFields are the lists of keys in the configuration of node-restriction.
var listFields = map[rules.ID]Field{
	"NR-LABEL-1":      {Path: "nodePolicy.allowedLabels", narrows: true},
	"NR-LABEL-2":      {Path: "nodePolicy.allowedLabels", narrows: true},
	setOnce:           {Path: "nodePolicy.changeableLabels"},
	"NR-TAINT-1":      {Path: "nodePolicy.allowedTaints", narrows: true},
	"NR-ANNOTATION-1": {Path: "nodePolicy.nodeAnnotations"},
	"NR-MIRROR-4":     {Path: "nodePolicy.mirrorPods.allowedAnnotations"},
}

// settingFor is the only table of settings by rule.
func settingFor(key groupKey, rule rules.Rule, d details) Setting {
	if key.possible {
		return Setting{Remedy: possibleRemedy}
	}
	if key.rule == StaleToken {
		return Setting{Fields: []Field{{Path: "serviceAccountTokens.extendExpiration", Value: "true"}},
			GivesUp: "A stolen token of a pod is valid for up to a year.",
			Remedy:  "Or update or restart the client: it must read its token file again."}
	}
	if field, known := listFields[key.rule]; known && (len(d.keys) > 0 || !rule.Optional) {
		return listSetting(key.rule, field, d)
	}
	if remedy := configuredRemedy(key.rule, d); remedy.Remedy != "" {
		return remedy
	}
	if rule.Optional && !strings.HasSuffix(string(rule.ID), revoked) {
		return modeSetting(rule)
	}
	return Setting{Remedy: coreRemedy(key, d)}
}

func listSetting(id rules.ID, field Field, d details) Setting {
	field.Add = d.keys
	if len(d.keys) == 0 {
		return Setting{Incomplete: d.incomplete,
			Remedy: "Add the keys to " + field.Path + ". " + findKeys + " " + sources[id]}
	}
	s := Setting{Fields: []Field{field}, Incomplete: d.incomplete, Remedy: sources[id],
		GivesUp: "Every node can set these keys, also a compromised one."}
	if d.incomplete {
		s.Then = "Then add the other keys to " + field.Path + ". " + findKeys
	}
	return s
}

// findKeys is for metrics, which have no keys, and for messages that have only the first keys.
const findKeys = "The log of node-restriction lists up to 10 keys of each request."

// sources say where else the key can be removed.
var sources = map[rules.ID]string{
	"NR-LABEL-1": "Or remove the label from the kubelet's --node-labels.",
	"NR-LABEL-2": "Or let an administrator or a controller set the label.",
	setOnce:      "Or let an administrator change the label.",
	"NR-TAINT-1": "Or remove the taint from registerWithTaints of the KubeletConfiguration.",
	"NR-ANNOTATION-1": "Or give the client that writes the annotation its own ServiceAccount. It uses the kubelet's " +
		"credentials.",
	"NR-MIRROR-4": "Or remove the annotation from the static pod's file.",
}

// modeSetting keeps the findings: a rule in mode audit still reports.
func modeSetting(rule rules.Rule) Setting {
	s := Setting{
		Fields:  []Field{{Path: "rules.modes." + string(rule.ID), Value: rules.Audit.String()}},
		GivesUp: string(rule.ID) + " no longer denies any request.",
		Remedy:  alternatives[rule.ID],
	}
	if rule.Audited {
		// The base of Merge may enforce the rule.
		s.Remedy = "Needed only if rules.modes has the rule. By default it is audited, not enforced. " + s.Remedy
	}
	if s.Remedy == "" && strings.HasPrefix(string(rule.ID), "KA-") {
		s.Remedy = "Or grant the user the right that the rule names. `bulkhead kubelet-access` lists which rights " +
			"users lose."
	}
	return s
}
