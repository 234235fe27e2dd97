// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionflags

import (
	"slices"
	"strings"
)

// turnOn enables the plugin. A flag that only disables this plugin is replaced by the flag that
// enables it, at the same position, if the second flag is not set. So Unwire restores the text of a
// kubeadm manifest exactly.
func turnOn(f Flags) {
	disabled, _ := list(f, disableFlag)
	enabled, set := list(f, enableFlag)
	if !set && f.PluginByDefault() {
		remove(f, disableFlag)
		return
	}
	if !set && slices.Equal(disabled, []string{plugin}) {
		f.ReplaceArg(disableFlag, enableFlag, plugin)
		return
	}
	remove(f, disableFlag)
	if !slices.Contains(enabled, plugin) {
		add(f, enableFlag)
	}
}

// turnOff disables the plugin. It replaces a flag at the same position, like turnOn.
func turnOff(f Flags) {
	enabled, set := list(f, enableFlag)
	_, disables := f.Arg(disableFlag)
	switch {
	case f.PluginByDefault():
		// The flag must be set, even to an empty value. Otherwise the default would enable the
		// plugin.
		leaveOut(f)
	case set && !disables && slices.Equal(enabled, []string{plugin}):
		f.ReplaceArg(enableFlag, disableFlag, plugin)
		return
	default:
		remove(f, enableFlag)
	}
	add(f, disableFlag)
}

// unsay restores flags that do not name the plugin.
func unsay(f Flags) {
	disabled, _ := list(f, disableFlag)
	remove(f, disableFlag)
	if !f.PluginByDefault() {
		remove(f, enableFlag)
		return
	}
	if !slices.Contains(disabled, plugin) {
		return // the plugin is still enabled, by default or by a flag
	}
	if enabled, _ := list(f, enableFlag); len(enabled) > 0 {
		add(f, enableFlag) // the list has other plugins now, so the default does not apply
		return
	}
	f.DeleteArg(enableFlag)
}

// leaveOut removes this plugin from --enable-admission-plugins, and keeps the flag.
func leaveOut(f Flags) {
	enabled, _ := list(f, enableFlag)
	f.SetArg(enableFlag, strings.Join(slices.DeleteFunc(enabled, isPlugin), ","))
}

func add(f Flags, flag string) {
	names, _ := list(f, flag)
	if !slices.Contains(names, plugin) {
		f.SetArg(flag, strings.Join(append(names, plugin), ","))
	}
}

// remove deletes the plugin from a list. It deletes the flag if the list is then empty.
func remove(f Flags, flag string) {
	names, _ := list(f, flag)
	if !slices.Contains(names, plugin) {
		return
	}
	if names = slices.DeleteFunc(names, isPlugin); len(names) == 0 {
		f.DeleteArg(flag)
		return
	}
	f.SetArg(flag, strings.Join(names, ","))
}

func isPlugin(name string) bool { return name == plugin }

func list(f Flags, flag string) (names []string, set bool) {
	value, set := f.Arg(flag)
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names, set
}
