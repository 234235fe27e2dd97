// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeadmconfig

import (
	"fmt"
	"slices"
)

// extraArgs are flags in one of kubeadm's two formats: a list of names and values since v1beta4, a
// map before.
type extraArgs struct {
	list  []any
	asMap map[string]any
}

func readArgs(value any) (*extraArgs, error) {
	switch v := value.(type) {
	case nil:
		return &extraArgs{}, nil
	case []any:
		return &extraArgs{list: slices.Clone(v)}, nil
	case map[string]any:
		return &extraArgs{asMap: v}, nil
	}
	return nil, fmt.Errorf("parsing ClusterConfiguration: apiServer.extraArgs is a %T", value)
}

func (a *extraArgs) value() any {
	if a.asMap != nil {
		return a.asMap
	}
	return a.list
}

func (a *extraArgs) empty() bool { return len(a.list) == 0 && len(a.asMap) == 0 }

// Arg returns the value of a flag. The last value counts.
func (a *extraArgs) Arg(name string) (value string, set bool) {
	if a.asMap != nil {
		text, set := a.asMap[name].(string)
		return text, set
	}
	for _, arg := range a.list {
		if arg, ok := arg.(map[string]any); ok && arg["name"] == name {
			value, _ = arg["value"].(string)
			set = true
		}
	}
	return value, set
}

// DeleteArg removes a flag and returns its old value.
func (a *extraArgs) DeleteArg(name string) (value string, had bool) {
	value, had = a.Arg(name)
	delete(a.asMap, name)
	a.list = slices.DeleteFunc(a.list, func(arg any) bool {
		m, _ := arg.(map[string]any)
		return m["name"] == name
	})
	return value, had
}

// SetArg sets a flag, at its old position or at the end.
func (a *extraArgs) SetArg(name, value string) {
	if a.asMap != nil {
		a.asMap[name] = value
		return
	}
	argument := map[string]any{"name": name, "value": value}
	at := slices.IndexFunc(a.list, func(arg any) bool {
		m, _ := arg.(map[string]any)
		return m["name"] == name
	})
	a.DeleteArg(name)
	if at < 0 || at > len(a.list) {
		at = len(a.list)
	}
	a.list = slices.Insert(a.list, at, any(argument))
}

// ReplaceArg does not keep the position, because kubeadm sorts the flags.
func (a *extraArgs) ReplaceArg(old, name, value string) {
	a.DeleteArg(old)
	a.SetArg(name, value)
}

// PluginByDefault is true: kubeadm enables NodeRestriction unless its configuration lists the
// plugins to enable.
func (a *extraArgs) PluginByDefault() bool { return true }
