// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// containersPath is where a DaemonSet has its containers.
var containersPath = []string{"spec", "template", "spec", "containers"}

// sharedModes are the flags of the proxies that say which rules hold. All control-plane
// hosts share them: what the DaemonSet has stays unless a person has just said
// something, so that a host that was told nothing, or something else long ago, does not
// enforce what somebody has chosen to look at first.
func (p *plan) sharedModes(have *unstructured.Unstructured) (map[string]string, error) {
	if have == nil || p.BeyondSaid {
		return p.Beyond.proxyModes()
	}
	containers, _, err := unstructured.NestedSlice(have.Object, containersPath...)
	if err != nil || len(containers) == 0 {
		return nil, err
	}
	modes := map[string]string{}
	container, _ := containers[0].(map[string]any)
	command, _, err := unstructured.NestedStringSlice(container, "command")
	for _, flag := range proxyFlags {
		modes[flag] = flagValue(command, flag)
	}
	return modes, err
}

// setFlags gives the program of a container flags; an empty value leaves one out.
func setFlags(container map[string]any, values map[string]string) {
	command, _, err := unstructured.NestedStringSlice(container, "command")
	if err != nil || len(command) == 0 {
		return
	}
	for _, flag := range proxyFlags {
		value, told := values[flag]
		if !told {
			continue
		}
		at := slices.IndexFunc(command, func(arg string) bool { return strings.HasPrefix(arg, "--"+flag+"=") })
		switch set := "--" + flag + "=" + value; {
		case at < 0 && value != "":
			command = append(command, set)
		case at >= 0 && value != "":
			command[at] = set
		case at >= 0:
			command = slices.Delete(command, at, at+1)
		}
	}
	all := make([]any, len(command))
	for i := range command {
		all[i] = command[i]
	}
	container["command"] = all
}
