// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// check passes when it returns nothing; what it returns says what is wrong.
type check struct {
	name string
	do   func(ctx context.Context, l *lane) error
}

var checks = []check{
	{"gofmt", gofmt},
	{"licence headers", licenceHeaders},
	{"go vet", func(ctx context.Context, l *lane) error { return l.inModules(ctx, "go", "vet", "./...") }},
	{"go.mod is tidy", func(ctx context.Context, l *lane) error { return l.inModules(ctx, "go", "mod", "tidy", "-diff") }},
	{"golangci-lint", golangciLint},
	{"shellcheck", shellcheck},
	{"docs/rules.md is up to date", rulesDoc},
	{"manifests build", manifestsBuild},
}

func verify(ctx context.Context, l *lane) error {
	var errs error
	for _, c := range checks {
		errs = errors.Join(errs, l.timed("verify: "+c.name, func() (count, error) {
			if err := c.do(ctx, l); err != nil {
				fmt.Fprintf(l.out, "    %s: %v\n", c.name, err)
				return count{failed: 1}, nil
			}
			return count{passed: 1}, nil
		}))
	}
	return errs
}

// modules are the Go modules of our own code, by their folders.
var modules = []string{
	".",
	"components/nodeauthorizer/againstupstream",
	"components/noderestriction/againstupstream",
	"components/kubeletauth/againstupstream",
}

// inModules runs a program in every module.
func (r *run) inModules(ctx context.Context, args ...string) error {
	var errs error
	for _, module := range modules {
		errs = errors.Join(errs, r.commandIn(ctx, module, args...))
	}
	return errs
}

// command runs a program in the checkout; its output is part of the error.
func (r *run) command(ctx context.Context, args ...string) error {
	return r.commandIn(ctx, ".", args...)
}

func (r *run) commandIn(ctx context.Context, folder string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(r.root, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// tracked lists what git knows of or would add, so that _output never counts.
func (r *run) tracked(ctx context.Context, patterns ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, patterns...)...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files: %w", err)
	}
	return strings.Fields(string(out)), nil
}

func gofmt(ctx context.Context, l *lane) error {
	files, err := l.tracked(ctx, "*.go")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "gofmt", append([]string{"-l"}, files...)...)
	cmd.Dir = l.root
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		return fmt.Errorf("run gofmt -w on:\n%s%w", out, errOr(err, errFailed))
	}
	return nil
}

func errOr(err, fallback error) error {
	if err != nil {
		return err
	}
	return fallback
}

var licenceLines = []string{"Copyright The Bulkhead Authors", "SPDX-License-Identifier: Apache-2.0"}

func licenceHeaders(ctx context.Context, l *lane) error {
	files, err := l.tracked(ctx, "*.go", "*.sh", "Makefile", "*Dockerfile", ".ci/run")
	if err != nil {
		return err
	}
	for _, file := range files {
		raw, readErr := os.ReadFile(filepath.Join(l.root, file))
		if os.IsNotExist(readErr) {
			continue // deleted, not yet committed
		}
		head := raw[:min(len(raw), 200)]
		for _, line := range licenceLines {
			if readErr == nil && !bytes.Contains(head, []byte(line)) {
				readErr = fmt.Errorf("%s does not begin with %q", file, line)
			}
		}
		err = errors.Join(err, readErr)
	}
	return err
}

func golangciLint(ctx context.Context, l *lane) error {
	linter := filepath.Join(l.output, "bin", "golangci-lint")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", linter, "github.com/golangci/golangci-lint/v2/cmd/golangci-lint")
	build.Dir = filepath.Join(l.root, "scripts", "tools")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building golangci-lint: %w\n%s", err, out)
	}
	return l.inModules(ctx, linter, "run", "--timeout=15m", "./...")
}

func shellcheck(ctx context.Context, l *lane) error {
	if err := host.Install(ctx, os.Stdout, map[string]string{"shellcheck": "shellcheck"}); err != nil {
		return err
	}
	files, err := l.tracked(ctx, "*.sh", ".ci/run")
	if err != nil {
		return err
	}
	return l.command(ctx, append([]string{"shellcheck"}, files...)...)
}

func rulesDoc(ctx context.Context, l *lane) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./components/cmd/bulkhead", "rules", "--output=markdown")
	cmd.Dir = l.root
	want, err := cmd.Output()
	if err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(l.root, "docs", "rules.md"))
	if err != nil || !bytes.Equal(got, want) {
		return errors.Join(err, errors.New("docs/rules.md is not what the rule tables say: run `make update`"))
	}
	return nil
}
