// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

// machineRow is a row of the machine table.
type machineRow struct {
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Taints    []rowTaint        `json:"taints"`
	Addresses []string          `json:"addresses"`
}

type rowTaint struct {
	Key    string             `json:"key"`
	Value  string             `json:"value"`
	Effect corev1.TaintEffect `json:"effect"`
}

func (v *validator) machines(rows []machineRow) []Machine {
	var all []Machine
	lines := map[string]int{}
	for i, row := range rows {
		path := element("machines", i)
		beginning, open := strings.CutSuffix(row.Name, "*")
		if !v.has(path + ".name") {
			v.add(path, " needs a name")
		} else if v.valid(path+".name", row.Name, nodeNames(beginning, open)) {
			if before, twice := lines[row.Name]; twice {
				v.add(path, ": there is a row for %q in line %d", row.Name, before)
			}
			lines[row.Name] = v.lines[path]
		}
		v.labels(path+".labels", row.Labels)
		all = append(all, Machine{row.Name, row.Labels, v.taints(path+".taints", row.Taints),
			v.prefixes(path+".addresses", row.Addresses)})
	}
	return all
}

func (v *validator) labels(path string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := strictyaml.Join(path, strictyaml.Shorten(key))
		if v.valid(at, key, labelKeys(key, false)) {
			v.labelValue(at, labels[key])
		}
	}
}

func (v *validator) labelValue(path, value string) {
	v.valid(path, value, strings.Join(validation.IsValidLabelValue(value), "; "))
}

func (v *validator) taints(path string, rows []rowTaint) []corev1.Taint {
	var taints []corev1.Taint
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	known := map[identity]bool{}
	for i, row := range rows {
		path := element(path, i)
		v.taint(path, row)
		if known[identity{row.Key, row.Effect}] {
			v.add(path, ": there is another taint %s:%s in this row", strictyaml.Shorten(row.Key), row.Effect)
		}
		known[identity{row.Key, row.Effect}] = row.Key != ""
		taints = append(taints, corev1.Taint{Key: row.Key, Value: row.Value, Effect: row.Effect})
	}
	return taints
}

func (v *validator) taint(path string, row rowTaint) {
	for _, needed := range []string{"key", "effect"} {
		if !v.has(strictyaml.Join(path, needed)) {
			v.add(path, " needs a field %s", needed)
		}
	}
	if v.has(path + ".key") {
		v.valid(path+".key", row.Key, rowTaintKey(row.Key))
	}
	v.labelValue(path+".value", row.Value)
	switch row.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		if v.has(path + ".effect") {
			v.add(path+".effect", " is %q; it must be NoSchedule, PreferNoSchedule or NoExecute",
				strictyaml.Shorten(string(row.Effect)))
		}
	}
}
