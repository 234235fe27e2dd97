// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// attackID is an ID of the catalogue (docs/attacks.md).
var attackID = regexp.MustCompile(`^[A-Za-z]+[0-9]+$`)

// attack runs the specs of one attack on the current cluster, or on a new one, and prints them as a
// story.
func attack(ctx context.Context, j *job, profile, id string) error {
	if !attackID.MatchString(id) {
		return fmt.Errorf("invalid attack %q: use an ID of docs/attacks.md, such as `make attack T=T8`", id)
	}
	profile, err := j.ready(ctx, profile)
	if err != nil {
		return err
	}
	program := j.path("suites", "attacks.test")
	err = j.step(ctx, "compiling the attacks", func(*result) error {
		return j.run(j.command(ctx, "go", "test", "-c", "-o", program, "./e2e/attacks"))
	})
	if err != nil {
		return err
	}
	return j.step(ctx, "attack "+id+", profile "+profile, func(r *result) error {
		artifacts := j.path("e2e", profile, "attack")
		cmd := j.withNodes(ctx, "env", "E2E_KUBECONFIG="+j.kubeconfig(), "E2E_PROFILE="+profile,
			"E2E_ARTIFACTS="+artifacts, "E2E_STORY=/dev/stderr", program, "-test.run=^TestSpecs$", "-ginkgo.no-color",
			"-ginkgo.silence-skips", "-ginkgo.label-filter=attack: containsAny "+id)
		cmd.Dir = filepath.Join(j.root, "e2e", "attacks")
		// Standard error has the story, standard output what Ginkgo prints.
		var printed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &printed, os.Stderr
		ran := cmd.Run()
		if ran != nil {
			ran = fmt.Errorf("the program failed: %w\n%s", ran, printed.String())
		}
		return r.judge(ran, r.readJUnit(filepath.Join(artifacts, "attacks.junit.xml"), "attacks"))
	})
}
