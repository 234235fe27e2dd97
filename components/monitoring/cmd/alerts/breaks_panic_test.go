// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestWithBug(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(decideFile)))
	if err != nil {
		t.Fatal(err)
	}
	changed, err := withBug(string(source))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", changed, 0); err != nil || !strings.Contains(changed, panicSecret) {
		t.Errorf("cannot parse the changed file: %v\n%s", err, changed)
	}
	if _, err := withBug("package other"); err == nil {
		t.Error("no error for a file without the line")
	}
}

func TestUsePanicking(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "manifests", "node-authorizer", "static-pod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		t.Fatal(err)
	}
	args := len(pod.Spec.Containers[0].Command)
	usePanicking(&pod)
	c := pod.Spec.Containers[0]
	if last := c.VolumeMounts[len(c.VolumeMounts)-1]; c.Command[0] != last.MountPath+"/node-authorizer" ||
		len(c.Command) != args || pod.Spec.Volumes[len(pod.Spec.Volumes)-1].Name != last.Name {
		t.Errorf("command %q with volume %v", c.Command, last)
	}
}
