// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeadmconfig edits kubeadm's ClusterConfiguration, from which
// `kubeadm upgrade` writes the manifest of kube-apiserver anew: what only the
// manifest knew would be lost then.
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

// Wiring is what kube-apiserver has to be started with.
type Wiring struct {
	VolumeName, Dir, ConfigFile string
	Admission                   admissionflags.Wiring
}

// Before is what the configuration said about what we edit.
type Before struct {
	// Modes is the --authorization-mode that it had; empty if it had none.
	Modes string
	admissionflags.Before
}

// Wire returns the ClusterConfiguration with our files and their volume. before is
// what it said before us, if it has our edits already: wiring twice is wiring once.
// kubeadm leaves out its own default of --authorization-mode when
// --authorization-config is there.
func Wire(clusterConfiguration string, w Wiring, before Before) (string, error) {
	config, server, err := parse(clusterConfiguration)
	if err != nil {
		return "", err
	}
	args, err := readArgs(server["extraArgs"])
	if err != nil {
		return "", err
	}
	args.DeleteArg(modeArg)
	args.SetArg(configArg, w.ConfigFile)
	admissionflags.Unwire(args, w.Admission, before.Before)
	admissionflags.Wire(args, w.Admission)
	server["extraArgs"] = args.value()
	server["extraVolumes"] = append(otherVolumes(server, w), map[string]any{
		"name": w.VolumeName, "hostPath": w.Dir, "mountPath": w.Dir, "readOnly": true, "pathType": "Directory",
	})
	config["apiServer"] = server
	// Text that says it already stays as it was written.
	if was, _, err := parse(clusterConfiguration); err == nil && equality.Semantic.DeepEqual(was, config) {
		return clusterConfiguration, nil
	}
	return encode(config)
}

// Unwire takes back what Wire did, and gives the flags that were edited what they
// were before. A configuration without our edits comes back as it is.
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
	if value, _ := args.Arg(configArg); value == w.ConfigFile {
		args.DeleteArg(configArg)
		if before.Modes != "" {
			args.SetArg(modeArg, before.Modes)
		}
	}
	admissionflags.Unwire(args, w.Admission, before.Before)
	setOrDrop(server, "extraArgs", args.value(), args.empty())
	volumes := otherVolumes(server, w)
	setOrDrop(server, "extraVolumes", volumes, len(volumes) == 0)
	setOrDrop(config, "apiServer", server, len(server) == 0)
	return encode(config)
}

// Read says what a configuration does about what we edit. Where it has our edits,
// that is not what it did before us.
func Read(clusterConfiguration string) Before {
	args, err := argsOf(clusterConfiguration)
	if err != nil {
		return Before{}
	}
	modes, _ := args.Arg(modeArg)
	return Before{Modes: modes, Before: admissionflags.Read(args)}
}

// Wired reports whether the configuration names one of our files.
func Wired(clusterConfiguration string, w Wiring) bool {
	args, err := argsOf(clusterConfiguration)
	return err == nil && wired(args, w)
}

// AdmissionWired reports whether it names the one about admission.
func AdmissionWired(clusterConfiguration string, w Wiring) bool {
	args, err := argsOf(clusterConfiguration)
	return err == nil && admissionflags.Wired(args, w.Admission.ConfigFile)
}

func wired(args *extraArgs, w Wiring) bool {
	value, _ := args.Arg(configArg)
	return value == w.ConfigFile || admissionflags.Wired(args, w.Admission.ConfigFile)
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
