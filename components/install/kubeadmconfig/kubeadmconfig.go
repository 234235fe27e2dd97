// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeadmconfig edits kubeadm's ClusterConfiguration, from which
// `kubeadm upgrade` writes the manifest of kube-apiserver anew: what only the
// manifest knew would be lost then.
package kubeadmconfig

import (
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

const (
	configArg = "authorization-config"
	modeArg   = "authorization-mode"
)

// Wiring is what kube-apiserver has to be started with.
type Wiring struct {
	VolumeName, Dir, ConfigFile string
}

// Wire returns the ClusterConfiguration with --authorization-config and its
// volume, and the --authorization-mode that it had, if any. kubeadm leaves out
// its own default of that flag when the other is there.
func Wire(clusterConfiguration string, w Wiring) (edited, modes string, err error) {
	config, server, err := parse(clusterConfiguration)
	if err != nil {
		return "", "", err
	}
	args, err := readArgs(server["extraArgs"])
	if err != nil {
		return "", "", err
	}
	modes = args.remove(modeArg)
	args.set(configArg, w.ConfigFile)
	server["extraArgs"] = args.value()
	server["extraVolumes"] = append(otherVolumes(server, w), map[string]any{
		"name": w.VolumeName, "hostPath": w.Dir, "mountPath": w.Dir, "readOnly": true, "pathType": "Directory",
	})
	config["apiServer"] = server
	edited, err = encode(config)
	return edited, modes, err
}

// Unwire takes back what Wire did and puts modes back, if it is not empty. A
// configuration without our edits comes back as it is.
func Unwire(clusterConfiguration string, w Wiring, modes string) (string, error) {
	config, server, err := parse(clusterConfiguration)
	if err != nil {
		return "", err
	}
	args, err := readArgs(server["extraArgs"])
	if err != nil {
		return "", err
	}
	if args.get(configArg) != w.ConfigFile {
		return clusterConfiguration, nil
	}
	args.remove(configArg)
	if modes != "" {
		args.set(modeArg, modes)
	}
	setOrDrop(server, "extraArgs", args.value(), args.empty())
	volumes := otherVolumes(server, w)
	setOrDrop(server, "extraVolumes", volumes, len(volumes) == 0)
	setOrDrop(config, "apiServer", server, len(server) == 0)
	return encode(config)
}

// Modes is the --authorization-mode that the configuration has; empty if it has none.
func Modes(clusterConfiguration string) string {
	_, server, err := parse(clusterConfiguration)
	if err != nil {
		return ""
	}
	args, err := readArgs(server["extraArgs"])
	if err != nil {
		return ""
	}
	return args.get(modeArg)
}

// Wired reports whether the configuration names our file.
func Wired(clusterConfiguration string, w Wiring) bool {
	_, server, err := parse(clusterConfiguration)
	if err != nil {
		return false
	}
	args, err := readArgs(server["extraArgs"])
	return err == nil && args.get(configArg) == w.ConfigFile
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
