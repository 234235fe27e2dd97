// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// keyCheck returns what is wrong with an entry, or "". beginning is the entry without its "*". open
// is true if the entry had one.
type keyCheck func(beginning string, open bool) string

// keys checks a list of keys and prefixes of keys. A list that is absent has no set.
func (v *validator) keys(path string, entries []string, check keyCheck, reserved reservation) *Keys {
	if entries == nil {
		return nil
	}
	for i, entry := range entries {
		beginning, open := strings.CutSuffix(entry, "*")
		v.valid(element(path, i), entry, check(beginning, open))
	}
	return newKeys(entries, reserved)
}

// element returns the path of an element of a list.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func labelKeys(beginning string, open bool) string {
	return wrongWith(beginning, open, validation.IsQualifiedName)
}

// annotationKeys allows capital letters before the slash, as the API server does for annotations.
func annotationKeys(beginning string, open bool) string {
	return labelKeys(strings.ToLower(beginning), open)
}

func stickyKeys(beginning string, open bool) string {
	if !open && neverSticky[beginning] {
		return "is set and removed by the control plane as the node's condition changes; it cannot be sticky"
	}
	return labelKeys(beginning, open)
}

// rowTaintKey checks the key of a taint in the machine table. Two controllers that disagree about a
// taint would write without an end.
func rowTaintKey(key string) string {
	switch {
	case key == StartupTaint:
		return "is what machine-table-controller removes; it cannot be in the table"
	case neverSticky[key] || key == corev1.TaintNodeUnschedulable:
		return "is set and removed by the control plane; it cannot be in the table"
	}
	return labelKeys(key, false)
}

// wrongWith checks a name. If open is true, it checks that a valid name can have this prefix.
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
