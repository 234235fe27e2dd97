// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command runc-wrapper is an OCI runtime. It removes from a container's specification what a host
// without CAP_SYS_RESOURCE cannot grant. Then it executes runc.
//
// On such a host, `docker run --privileged`, which kind always uses, fails with "unable to apply
// caps: operation not permitted". The bounding set does not allow the capability, raised rlimits
// and a lower oom_score_adj.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "runc-wrapper:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	file, isProcess := specFile(args)
	if file != "" {
		if err := rewrite(file, isProcess); err != nil {
			return err
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return fmt.Errorf("finding runc: %w", err)
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}

// specFile returns the file that describes the process: config.json of the bundle for create and
// run, and the process file for exec.
func specFile(args []string) (file string, isProcess bool) {
	switch {
	case slices.Contains(args, "create"), slices.Contains(args, "run"):
		bundle, ok := flagValue(args, "--bundle", "-b")
		if !ok {
			bundle = "."
		}
		return filepath.Join(bundle, "config.json"), false
	case slices.Contains(args, "exec"):
		file, _ = flagValue(args, "--process", "-p")
		return file, true
	}
	return "", false
}

func flagValue(args []string, names ...string) (string, bool) {
	for i, arg := range args {
		for _, name := range names {
			if arg == name && i+1 < len(args) {
				return args[i+1], true
			}
			if value, ok := strings.CutPrefix(arg, name+"="); ok {
				return value, true
			}
		}
	}
	return "", false
}

func rewrite(file string, isProcess bool) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the container's specification: %w", err)
	}
	out, err := relax(raw, isProcess)
	if err != nil {
		return fmt.Errorf("rewriting %s: %w", file, err)
	}
	return os.WriteFile(file, out, 0o600)
}

// relax removes CAP_SYS_RESOURCE from every capability set, all rlimits, and oomScoreAdj. It
// changes nothing else.
func relax(raw []byte, isProcess bool) ([]byte, error) {
	var spec map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // limits are 64-bit integers: a float64 would round them
	if err := decoder.Decode(&spec); err != nil {
		return nil, err
	}
	process := spec
	if !isProcess {
		var ok bool
		if process, ok = spec["process"].(map[string]any); !ok {
			return raw, nil
		}
	}
	delete(process, "rlimits")
	delete(process, "oomScoreAdj")
	if sets, ok := process["capabilities"].(map[string]any); ok {
		for name, set := range sets {
			if list, ok := set.([]any); ok {
				sets[name] = slices.DeleteFunc(list, func(c any) bool { return c == "CAP_SYS_RESOURCE" })
			}
		}
	}
	return json.Marshal(spec)
}
