// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package admissionflags edits what kube-apiserver's flags say about admission, in
// its manifest as well as in kubeadm's configuration, and takes that back.
package admissionflags

import (
	"slices"
)

const (
	configFlag  = "admission-control-config-file"
	enableFlag  = "enable-admission-plugins"
	disableFlag = "disable-admission-plugins"
	extendFlag  = "service-account-extend-token-expiration"
	kubeletFlag = "kubelet-certificate-authority"

	plugin = "NodeRestriction"
)

// Flags are those of one kube-apiserver, wherever they are written.
type Flags interface {
	Arg(name string) (value string, set bool)
	SetArg(name, value string)
	// ReplaceArg puts --name=value in the place of --old.
	ReplaceArg(old, name, value string)
	DeleteArg(name string) (value string, had bool)
	// PluginByDefault is true if whoever reads the flags adds NodeRestriction to
	// them where --enable-admission-plugins is not set.
	PluginByDefault() bool
}

// Wiring is what the flags have to say.
type Wiring struct {
	// ConfigFile is the AdmissionConfiguration.
	ConfigFile string
	// Floor keeps in-tree NodeRestriction on, behind which ours stands. Without it
	// ours stands in its place.
	Floor bool
	// ExactTokens has a token end when the node asked for it to end, and not up to a
	// year later.
	ExactTokens bool
	// KubeletCA is the authority of kubelets' serving certificates. VerifyKubelets has
	// kube-apiserver demand one of it: without, whoever is at a Node's address can pass
	// for its kubelet.
	KubeletCA      string
	VerifyKubelets bool
}

// Plugin says what the flags did with in-tree NodeRestriction before us.
type Plugin string

// What can be said about it.
const (
	// Unsaid: there was no flag, and so the default held.
	Unsaid Plugin = ""
	// On: it was among the plugins to enable.
	On Plugin = "on"
	// Left: other plugins were to be enabled, and this one was not among them.
	Left Plugin = "left-out"
	// Off: it was among the plugins to disable.
	Off Plugin = "off"
)

// Before is what has to be known to take our edits back.
type Before struct {
	NodeRestriction Plugin `json:"nodeRestriction,omitempty"`
	// ExtendTokens is the flag's value; empty if it was not set.
	ExtendTokens string `json:"extendTokens,omitempty"`
	// KubeletCA is the flag's value; empty if it was not set.
	KubeletCA string `json:"kubeletCA,omitempty"`
}

// Read says what flags without our edits do.
func Read(f Flags) Before {
	enabled, set := list(f, enableFlag)
	disabled, _ := list(f, disableFlag)
	b := Before{NodeRestriction: Unsaid}
	b.ExtendTokens, _ = f.Arg(extendFlag)
	b.KubeletCA, _ = f.Arg(kubeletFlag)
	switch {
	case slices.Contains(disabled, plugin):
		b.NodeRestriction = Off
	case slices.Contains(enabled, plugin):
		b.NodeRestriction = On
	case set:
		b.NodeRestriction = Left
	}
	return b
}

// Wired reports whether the flags name our file.
func Wired(f Flags, configFile string) bool {
	value, _ := f.Arg(configFlag)
	return value == configFile
}

// Wire makes the flags say what w does. They have to be without our edits.
func Wire(f Flags, w Wiring) {
	if w.Floor {
		turnOn(f)
	} else {
		turnOff(f)
	}
	f.SetArg(configFlag, w.ConfigFile)
	if w.ExactTokens {
		f.SetArg(extendFlag, "false")
	}
	if value, _ := f.Arg(kubeletFlag); w.VerifyKubelets && value == "" {
		f.SetArg(kubeletFlag, w.KubeletCA)
	}
}

// Unwire takes back what Wire did. Flags that do not name our file are left alone.
func Unwire(f Flags, w Wiring, b Before) {
	if !Wired(f, w.ConfigFile) {
		return
	}
	f.DeleteArg(configFlag)
	// What somebody else has put in the place of ours stays.
	if value, _ := f.Arg(kubeletFlag); b.KubeletCA == "" && w.KubeletCA != "" && value == w.KubeletCA {
		f.DeleteArg(kubeletFlag)
	}
	switch b.NodeRestriction {
	case On:
		turnOn(f)
	case Off:
		turnOff(f)
	case Left:
		remove(f, disableFlag)
		leaveOut(f)
	case Unsaid:
		unsay(f)
	}
	if value, _ := f.Arg(extendFlag); value != "false" {
		return
	}
	if b.ExtendTokens == "" {
		f.DeleteArg(extendFlag)
		return
	}
	f.SetArg(extendFlag, b.ExtendTokens)
}
