// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package admissionflags edits the admission flags of kube-apiserver, and undoes the edits. The
// flags can be in kube-apiserver's manifest or in kubeadm's configuration.
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

// Flags are the flags of one kube-apiserver. They can be in any file format.
type Flags interface {
	Arg(name string) (value string, set bool)
	SetArg(name, value string)
	// ReplaceArg replaces --old by --name=value, at the same position.
	ReplaceArg(old, name, value string)
	DeleteArg(name string) (value string, had bool)
	// PluginByDefault is true if the reader of the flags adds NodeRestriction to them when
	// --enable-admission-plugins is not set.
	PluginByDefault() bool
}

// Wiring is the wanted state of the flags.
type Wiring struct {
	// ConfigFile is the path of the AdmissionConfiguration.
	ConfigFile string
	// Floor keeps in-tree NodeRestriction enabled, together with node-restriction. Without Floor,
	// node-restriction replaces it.
	Floor bool
	// ExactTokens makes each token expire when the node asked for it. Without ExactTokens, a token
	// can stay valid for up to a year longer.
	ExactTokens bool
	// KubeletCA is the authority that signs the kubelets' serving certificates. With
	// VerifyKubelets, kube-apiserver requires a certificate that this authority signed. Without it,
	// any server at a Node's address can impersonate the kubelet.
	KubeletCA      string
	VerifyKubelets bool
}

// Plugin is the state of in-tree NodeRestriction in the flags before the installation.
type Plugin string

// The possible states of in-tree NodeRestriction.
const (
	// Unsaid: no flag was set, so the default applied.
	Unsaid Plugin = ""
	// On: --enable-admission-plugins listed it.
	On Plugin = "on"
	// Left: --enable-admission-plugins was set, but did not list it.
	Left Plugin = "left-out"
	// Off: --disable-admission-plugins listed it.
	Off Plugin = "off"
)

// Before is the old state of the flags. Unwire needs it to undo Wire.
type Before struct {
	NodeRestriction Plugin `json:"nodeRestriction,omitempty"`
	// ExtendTokens is the flag's value. It is empty if the flag was not set.
	ExtendTokens string `json:"extendTokens,omitempty"`
	// KubeletCA is the flag's value. It is empty if the flag was not set.
	KubeletCA string `json:"kubeletCA,omitempty"`
	// ConfigFile is the AdmissionConfiguration of another program or user. It is empty if the flag
	// was not set.
	ConfigFile string `json:"configFile,omitempty"`
}

// Read returns the state of the flags. The flags must not contain Bulkhead's edits.
func Read(f Flags) Before {
	enabled, set := list(f, enableFlag)
	disabled, _ := list(f, disableFlag)
	b := Before{NodeRestriction: Unsaid}
	b.ExtendTokens, _ = f.Arg(extendFlag)
	b.KubeletCA, _ = f.Arg(kubeletFlag)
	b.ConfigFile, _ = f.Arg(configFlag)
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

// Wired reports whether the flags name configFile.
func Wired(f Flags, configFile string) bool {
	value, _ := f.Arg(configFlag)
	return value == configFile
}

// Wire sets the flags to the state that w describes. The flags must not contain Bulkhead's edits.
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

// Unwire undoes Wire. It does not change flags that do not name w.ConfigFile, with one exception:
// authorized is true if the authorization flag of the same server is Bulkhead's. Then a user has
// replaced only the name of Bulkhead's file, and the other flags are Bulkhead's. The new name stays.
func Unwire(f Flags, w Wiring, b Before, authorized bool) {
	file, _ := f.Arg(configFlag)
	switch {
	case file == w.ConfigFile && b.ConfigFile == "":
		f.DeleteArg(configFlag)
	case file == w.ConfigFile:
		f.SetArg(configFlag, b.ConfigFile)
	case !authorized || file == "":
		return
	}
	// A value that another program has set since then stays.
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
