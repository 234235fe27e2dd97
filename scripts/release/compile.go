// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// platforms are those for which the programs are built.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

// compiler builds the programs of a checkout.
type compiler struct {
	root, version string
	// cache is a folder for GOCACHE. If it is empty, the user's own is used.
	cache string
}

// compile builds every program below components/cmd into folder, and returns their names.
func (c compiler) compile(ctx context.Context, p platform, folder string) ([]string, error) {
	flags, err := output(ctx, c.root, filepath.Join(c.root, "scripts", "ldflags.sh"), c.version)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags="+flags, "-o", folder+string(filepath.Separator),
		"./components/cmd/...")
	build.Dir, build.Env = c.root, append(os.Environ(), c.environment(p)...)
	if printed, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the programs for %s: %w\n%s", p, err, printed)
	}
	files, err := os.ReadDir(folder)
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	return names, err
}

// conformance builds bulkhead-conformance into folder. It returns the path, and those of the programs that
// bulkhead-conformance contains.
func (c compiler) conformance(ctx context.Context, p platform, folder string) (string, []string, error) {
	file, content := filepath.Join(folder, "bulkhead-conformance"), filepath.Join(folder, "content")
	build := exec.CommandContext(ctx, filepath.Join(c.root, "scripts", "conformance.sh"), file, content, c.version)
	build.Env = append(os.Environ(), c.environment(p)...)
	if printed, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("cannot build bulkhead-conformance for %s: %w\n%s", p, err, printed)
	}
	contained, err := filepath.Glob(filepath.Join(content, "e2e", "suites", "*"))
	return file, contained, err
}

// environment sets all that changes the bytes of a program.
func (c compiler) environment(p platform) []string {
	env := []string{
		"GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOWORK=off", "GOEXPERIMENT=",
		"GOFIPS140=off", "GOFLAGS=-mod=readonly -trimpath -buildvcs=false",
	}
	if c.cache != "" {
		env = append(env, "GOCACHE="+c.cache)
	}
	return env
}

// output runs a program in a folder. It returns what the program prints, without spaces around it.
func output(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = folder
	var problem strings.Builder
	cmd.Stderr = &problem
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimSpace(string(printed)), nil
}
