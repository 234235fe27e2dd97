// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionflags

import (
	"slices"
	"strings"
)

// turnOn enables the plugin. Where disabling it is all that the one flag says and
// the other does not stand there, the one takes the other's place: so what Wire did
// to a manifest of kubeadm comes back to the letter.
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

// turnOff is the other way round.
func turnOff(f Flags) {
	enabled, set := list(f, enableFlag)
	_, disables := f.Arg(disableFlag)
	switch {
	case f.PluginByDefault():
		// An empty value, because none would be filled in.
		leaveOut(f)
	case set && !disables && slices.Equal(enabled, []string{plugin}):
		f.ReplaceArg(enableFlag, disableFlag, plugin)
		return
	default:
		remove(f, enableFlag)
	}
	add(f, disableFlag)
}

// unsay goes back to where the flags did not name the plugin.
func unsay(f Flags) {
	disabled, _ := list(f, disableFlag)
	remove(f, disableFlag)
	if !f.PluginByDefault() {
		remove(f, enableFlag)
		return
	}
	if !slices.Contains(disabled, plugin) {
		return // it was left on, by the default or by somebody who said so
	}
	if enabled, _ := list(f, enableFlag); len(enabled) > 0 {
		add(f, enableFlag) // others have been added since, and the default is lost
		return
	}
	f.DeleteArg(enableFlag)
}

// leaveOut keeps the flag that enables plugins, without this one.
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

// remove takes the plugin out of a list, and the flag away if nothing is left.
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
