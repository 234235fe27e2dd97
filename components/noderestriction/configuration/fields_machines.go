// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

func (d *decoder) machines(n *yaml.Node, path string) []Machine {
	var rows []Machine
	lines := map[string]int{}
	d.List(n, path, func(n *yaml.Node, path string) {
		var row Machine
		seen := d.object(n, path, map[string]field{
			"name":   func(n *yaml.Node, path string) { row.Name = d.machineName(n, path) },
			"labels": func(n *yaml.Node, path string) { row.Labels = d.labels(n, path) },
			"taints": func(n *yaml.Node, path string) { row.Taints = d.taints(n, path) },
			"addresses": func(n *yaml.Node, path string) {
				row.Addresses = d.prefixes(n, path)
			},
		})
		if n.Kind == yaml.MappingNode && !seen["name"] {
			d.Add(n, "%s needs a name", path)
		}
		if before, twice := lines[row.Name]; twice && row.Name != "" {
			d.Add(n, "%s: there is a row for %q in line %d", path, row.Name, before)
		}
		lines[row.Name] = n.Line
		rows = append(rows, row)
	})
	return rows
}

func (d *decoder) machineName(n *yaml.Node, path string) string {
	name, ok := d.text(n, path)
	if !ok {
		return ""
	}
	beginning, open := strings.CutSuffix(name, "*")
	if wrong := wrongWith(beginning, open, validation.IsDNS1123Subdomain); wrong != "" {
		d.Add(n, "%s: %q %s", path, strictyaml.Shorten(name), wrong)
		return ""
	}
	return name
}

func (d *decoder) labels(n *yaml.Node, path string) map[string]string {
	labels := map[string]string{}
	d.Mapping(n, path, func(key, value *yaml.Node) {
		if wrong := labelKeys(key.Value, false); wrong != "" {
			d.Add(key, "%s: %q %s", path, strictyaml.Shorten(key.Value), wrong)
			return
		}
		labels[key.Value] = d.labelValue(value, strictyaml.Join(path, key.Value))
	})
	return labels
}

func (d *decoder) labelValue(n *yaml.Node, path string) string {
	value, ok := d.text(n, path)
	if !ok {
		return ""
	}
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		d.Add(n, "%s: %q %s", path, strictyaml.Shorten(value), strings.Join(wrong, "; "))
	}
	return value
}

func (d *decoder) taints(n *yaml.Node, path string) []corev1.Taint {
	var taints []corev1.Taint
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	known := map[identity]bool{}
	d.List(n, path, func(n *yaml.Node, path string) {
		taint := d.taint(n, path)
		if known[identity{taint.Key, taint.Effect}] {
			d.Add(n, "%s: there is another taint %s:%s in this row", path, taint.Key, taint.Effect)
		}
		known[identity{taint.Key, taint.Effect}] = taint.Key != ""
		taints = append(taints, taint)
	})
	return taints
}

func (d *decoder) taint(n *yaml.Node, path string) corev1.Taint {
	var taint corev1.Taint
	seen := d.object(n, path, map[string]field{
		"key": func(n *yaml.Node, path string) {
			key, ok := d.text(n, path)
			if wrong := rowTaintKey(key); ok && wrong != "" {
				d.Add(n, "%s: %q %s", path, strictyaml.Shorten(key), wrong)
			}
			taint.Key = key
		},
		"value":  func(n *yaml.Node, path string) { taint.Value = d.labelValue(n, path) },
		"effect": func(n *yaml.Node, path string) { taint.Effect = d.effect(n, path) },
	})
	for _, needed := range []string{"key", "effect"} {
		if n.Kind == yaml.MappingNode && !seen[needed] {
			d.Add(n, "%s needs a field %s", path, needed)
		}
	}
	return taint
}

func (d *decoder) effect(n *yaml.Node, path string) corev1.TaintEffect {
	text, ok := d.text(n, path)
	if !ok {
		return ""
	}
	switch effect := corev1.TaintEffect(text); effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return effect
	}
	d.Add(n, "%s is %q; it must be NoSchedule, PreferNoSchedule or NoExecute", path, strictyaml.Shorten(text))
	return ""
}
