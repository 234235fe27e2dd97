// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeadmconfig

import (
	"fmt"
	"slices"
)

// extraArgs are flags in either of kubeadm's two forms: a list of name and
// value since v1beta4, a map before.
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

func (a *extraArgs) get(name string) string {
	if a.asMap != nil {
		value, _ := a.asMap[name].(string)
		return value
	}
	value := ""
	for _, arg := range a.list {
		if arg, ok := arg.(map[string]any); ok && arg["name"] == name {
			value, _ = arg["value"].(string)
		}
	}
	return value
}

// remove takes a flag away and returns the value it had.
func (a *extraArgs) remove(name string) string {
	value := a.get(name)
	delete(a.asMap, name)
	a.list = slices.DeleteFunc(a.list, func(arg any) bool {
		m, _ := arg.(map[string]any)
		return m["name"] == name
	})
	return value
}

func (a *extraArgs) set(name, value string) {
	a.remove(name)
	if a.asMap != nil {
		a.asMap[name] = value
		return
	}
	a.list = append(a.list, map[string]any{"name": name, "value": value})
}
