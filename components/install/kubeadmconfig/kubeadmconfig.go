// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeadmconfig edits kubeadm's ClusterConfiguration. `kubeadm upgrade` creates the
// manifest of kube-apiserver from it, so it would lose edits that are only in the manifest.
package kubeadmconfig

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
)

const (
	configArg = "authorization-config"
	modeArg   = "authorization-mode"
)

// Wiring is the wanted configuration of kube-apiserver.
type Wiring struct {
	VolumeName, Dir, ConfigFile string
	Admission                   admissionflags.Wiring
}

// Before is the old state of the flags that Wire edits.
type Before struct {
	// Modes is the old value of --authorization-mode. It is empty if the flag was not set.
	Modes string
	admissionflags.Before
}

// Wire returns the ClusterConfiguration with Bulkhead's files and their volume. If it already
// contains Bulkhead's edits, before must be the state without them. A second Wire changes nothing.
// kubeadm does not add its default --authorization-mode when --authorization-config is set.
func Wire(clusterConfiguration string, w Wiring, before Before) (string, error) {
	config, server, err := parse(clusterConfiguration)
	if err != nil {
		return "", err
	}
	args, err := readArgs(server["extraArgs"])
	if err != nil {
		return "", err
	}
	authorized := authorized(args, w)
	args.DeleteArg(modeArg)
	args.SetArg(configArg, w.ConfigFile)
	admissionflags.Unwire(args, w.Admission, before.Before, authorized)
	admissionflags.Wire(args, w.Admission)
	server["extraArgs"] = args.value()
	server["extraVolumes"] = append(otherVolumes(server, w), map[string]any{
		"name": w.VolumeName, "hostPath": w.Dir, "mountPath": w.Dir, "readOnly": true, "pathType": "Directory",
	})
	config["apiServer"] = server
	// If nothing changes, the text keeps its layout.
	if was, _, err := parse(clusterConfiguration); err == nil && equality.Semantic.DeepEqual(was, config) {
		return clusterConfiguration, nil
	}
	return encode(config)
}

// Unwire undoes Wire and restores the old values of the flags. It returns a configuration without
// Bulkhead's edits unchanged.
func Unwire(clusterConfiguration string, w Wiring, before Before) (string, error) {
	config, server, err := parse(clusterConfiguration)
	if err != nil {
		return "", err
	}
	args, err := readArgs(server["extraArgs"])
	if err != nil {
		return "", err
	}
	if !wired(args, w) {
		return clusterConfiguration, nil
	}
	authorized := authorized(args, w)
	if authorized {
		args.DeleteArg(configArg)
		if before.Modes != "" {
			args.SetArg(modeArg, before.Modes)
		}
	}
	admissionflags.Unwire(args, w.Admission, before.Before, authorized)
	setOrDrop(server, "extraArgs", args.value(), args.empty())
	volumes := otherVolumes(server, w)
	setOrDrop(server, "extraVolumes", volumes, len(volumes) == 0)
	setOrDrop(config, "apiServer", server, len(server) == 0)
	return encode(config)
}

// Read returns the state of the flags that Wire edits. If the configuration contains Bulkhead's
// edits, this is not the state before the installation.
func Read(clusterConfiguration string) Before {
	args, err := argsOf(clusterConfiguration)
	if err != nil {
		return Before{}
	}
	modes, _ := args.Arg(modeArg)
	return Before{Modes: modes, Before: admissionflags.Read(args)}
}

// Wired reports whether the configuration names one of Bulkhead's files.
func Wired(clusterConfiguration string, w Wiring) bool {
	args, err := argsOf(clusterConfiguration)
	return err == nil && wired(args, w)
}

// WhollyWired reports whether it names both of Bulkhead's files.
func WhollyWired(clusterConfiguration string, w Wiring) bool {
	args, err := argsOf(clusterConfiguration)
	return err == nil && authorized(args, w) && admissionflags.Wired(args, w.Admission.ConfigFile)
}

// AdmissionWired reports whether it names Bulkhead's admission file.
func AdmissionWired(clusterConfiguration string, w Wiring) bool {
	args, err := argsOf(clusterConfiguration)
	return err == nil && admissionflags.Wired(args, w.Admission.ConfigFile)
}

func wired(args *extraArgs, w Wiring) bool {
	return authorized(args, w) || admissionflags.Wired(args, w.Admission.ConfigFile)
}

func authorized(args *extraArgs, w Wiring) bool {
	value, _ := args.Arg(configArg)
	return value == w.ConfigFile
}

func argsOf(clusterConfiguration string) (*extraArgs, error) {
	_, server, err := parse(clusterConfiguration)
	if err != nil {
		return nil, err
	}
	return readArgs(server["extraArgs"])
}

func parse(text string) (config, server map[string]any, err error) {
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return nil, nil, fmt.Errorf("parsing ClusterConfiguration: %w", err)
	}
	if kind := config["kind"]; kind != "ClusterConfiguration" {
		return nil, nil, fmt.Errorf("parsing ClusterConfiguration: kind is %v", kind)
	}
	server, _ = config["apiServer"].(map[string]any)
	if server == nil {
		server = map[string]any{}
	}
	return config, server, nil
}

func encode(config map[string]any) (string, error) {
	out, err := yaml.Marshal(config)
	return string(out), err
}

func otherVolumes(server map[string]any, w Wiring) []any {
	volumes, _ := server["extraVolumes"].([]any)
	return slices.DeleteFunc(slices.Clone(volumes), func(v any) bool {
		volume, _ := v.(map[string]any)
		return volume["name"] == w.VolumeName || volume["hostPath"] == w.Dir
	})
}

func setOrDrop(object map[string]any, key string, value any, empty bool) {
	if empty {
		delete(object, key)
		return
	}
	object[key] = value
}
