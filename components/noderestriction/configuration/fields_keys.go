// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// keyCheck says what is wrong with an entry, given without its *, or nothing.
type keyCheck func(beginning string, open bool) string

// keys reads a list of keys and of beginnings of keys.
func (d *decoder) keys(into **Keys, check keyCheck, reserved reservation) field {
	return func(n *yaml.Node, path string) {
		var entries []string
		isList := d.list(n, path, func(n *yaml.Node, path string) {
			entry, ok := d.text(n, path)
			if !ok {
				return
			}
			beginning, open := strings.CutSuffix(entry, "*")
			if wrong := check(beginning, open); wrong != "" {
				d.fail(n, "%s: %q %s", path, shorten(entry), wrong)
				return
			}
			entries = append(entries, entry)
		})
		if isList {
			*into = newKeys(entries, reserved)
		}
	}
}

// plainKeys reads a list of label keys, none of which stands for others.
func (d *decoder) plainKeys(n *yaml.Node, path string) []string {
	keys := []string{}
	d.list(n, path, func(n *yaml.Node, path string) {
		key, ok := d.text(n, path)
		if !ok {
			return
		}
		if wrong := labelKeys(key, false); wrong != "" {
			d.fail(n, "%s: %q %s", path, shorten(key), wrong)
			return
		}
		keys = append(keys, key)
	})
	return keys
}

func labelKeys(beginning string, open bool) string {
	return wrongWith(beginning, open, validation.IsQualifiedName)
}

// annotationKeys may have capital letters before the slash.
func annotationKeys(beginning string, open bool) string {
	return labelKeys(strings.ToLower(beginning), open)
}

func stickyKeys(beginning string, open bool) string {
	if !open && neverSticky[beginning] {
		return "is set and removed by the control plane as the node's condition changes; it cannot be sticky"
	}
	return labelKeys(beginning, open)
}

// wrongWith checks a name, or that there is a name which begins like that.
func wrongWith(beginning string, open bool, check func(string) []string) string {
	if !open {
		return strings.Join(check(beginning), "; ")
	}
	if beginning == "" {
		return ""
	}
	for _, rest := range []string{"", "a", "a/a"} {
		if len(check(beginning+rest)) == 0 {
			return ""
		}
	}
	return "is not the beginning of anything that could be one, and a *"
}
