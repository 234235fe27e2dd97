// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

const (
	panicAlert = "BulkheadPanic"
	// panicSecret is the name in the requests that make the program with the bug panic.
	panicSecret = "bulkhead-alerts-panic"
	// panickingFolder has the program with the bug, on the control-plane node.
	panickingFolder = "/etc/kubernetes/bulkhead-alerts-panicking"
	panicking       = "node-authorizer"

	// decideFile is the source file that gets the bug, and decideLine the line before which it is.
	decideFile = "components/internal/webhook/handler.go"
	decideLine = "\treturn h.protocol.Decide(ctx, q)\n"
	bug        = "\tif strings.Contains(fmt.Sprintf(\"%+v\", q), \"" + panicSecret + "\") {\n" +
		"\t\tpanic(\"a bug that make alerts has added\")\n\t}\n"
)

// withBug returns the source of [decideFile] with a bug.
func withBug(source string) (string, error) {
	changed := strings.Replace(source, decideLine, bug+decideLine, 1)
	if changed == source {
		return "", fmt.Errorf("cannot add a bug to %s: it has no line %q", decideFile, strings.TrimSpace(decideLine))
	}
	return strings.Replace(changed, "import (\n", "import (\n\t\"strings\"\n", 1), nil
}

// buildPanicking builds node-authorizer with the bug. No request is known that makes the real program
// panic. The sources do not change: go build gets the other file as an overlay.
func (c *cluster) buildPanicking(ctx context.Context, output string, log io.Writer) error {
	root, err := filepath.Abs(c.root)
	if err != nil {
		return err
	}
	original, changed := filepath.Join(root, filepath.FromSlash(decideFile)), filepath.Join(output, "panicking.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	text, err := withBug(string(source))
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return err
	}
	overlayFile := filepath.Join(output, "overlay.json")
	for file, text := range map[string]string{changed: text, overlayFile: string(overlay)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return progress.Command{
		Dir: root, Env: append(c.engine.Info.Platform.Env(), "CGO_ENABLED=0", "GOWORK=off"),
		Args: []string{"go", "build", "-overlay", overlayFile, "-o", filepath.Join(output, panicking),
			"./components/cmd/node-authorizer"},
	}.Run(ctx, log)
}

func panics(c *cluster) *breakage {
	return &breakage{
		causes: one(panicAlert),
		// node-authorizer is replaced, so it is absent for some seconds.
		also: []string{"BulkheadComponentDown", "BulkheadNodeAuthorizerFailOpen", "BulkheadScopeSyncNotReady"},
		broken: "node-authorizer is replaced by a program with a bug: it panics when it decides about one Secret. The " +
			"credential of the worker's kubelet requests this Secret.",
		repaired: "The manifest is restored, with the program of the image.",
		prepare: func(ctx context.Context) error {
			if err := c.onControlPlane(ctx, "mkdir -p "+panickingFolder); err != nil {
				return err
			}
			return c.engine.Docker("cp", filepath.Join(c.output, panicking), c.controlPlane+":"+panickingFolder+"/").
				Run(ctx, io.Discard)
		},
		restore: c.script("rm -rf " + panickingFolder),
		begin:   c.runPanicking,
		again: func(ctx context.Context) error {
			return c.onWorker(ctx, c.requestedSecrets(panicSecret))
		},
		repair: c.script(restored(authorizerPod)),
		ready:  c.ready(authorizerPort),
	}
}

// runPanicking replaces the program in the static pod of node-authorizer.
func (c *cluster) runPanicking(ctx context.Context) error {
	text, err := c.sh(ctx, c.controlPlane, saved(authorizerPod)+"cat "+authorizerPod)
	if err != nil {
		return err
	}
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
		return err
	}
	usePanicking(&pod)
	changed, err := yaml.Marshal(&pod)
	if err != nil {
		return err
	}
	err = c.onControlPlane(ctx, replaced(authorizerPod, "cat >$f <<'END'\n"+string(changed)+"END\ntrue"))
	if err != nil {
		return err
	}
	return c.awaitReady(ctx, authorizerPort)
}

// usePanicking makes a pod run the program in [panickingFolder].
func usePanicking(pod *corev1.Pod) {
	const volume = "panicking"
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: panickingFolder}}})
	main := &pod.Spec.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: panickingFolder,
		ReadOnly: true})
	main.Command[0] = panickingFolder + "/" + panicking
}
