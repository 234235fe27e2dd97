// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// verifyChecks are names of functions in scripts/verify.sh.
var verifyChecks = []string{
	"gofmt", "licence-headers", "tidy", linter, "shellcheck", "actionlint", "rules-doc", "docs-marks",
	"manifests", govulncheck,
}

const linter = "golangci-lint"

func verify(ctx context.Context, j *job) error { return checks(ctx, j, verifyChecks) }

// quickChecks are all but golangci-lint. It compiles for minutes, itself and all packages, so `make test`
// leaves it to `make verify`.
func quickChecks(ctx context.Context, j *job) error {
	return checks(ctx, j, slices.DeleteFunc(slices.Clone(verifyChecks), func(c string) bool { return c == linter }))
}

func checks(ctx context.Context, j *job, names []string) error {
	var errs error
	for _, check := range names {
		errs = errors.Join(errs, j.step(ctx, "verify: "+check, func(r *result) error {
			if check == "shellcheck" {
				if err := host.Install(ctx, j.out, map[string]string{check: check}); err != nil {
					return err
				}
			}
			if check == govulncheck && j.skipWithoutDatabase(ctx, r, databaseAddress()) {
				return ctx.Err()
			}
			if err := j.run(j.background(ctx, "scripts/verify.sh", check)); err != nil {
				return err
			}
			r.passed++
			return nil
		}))
	}
	return errs
}

// unit runs every test that needs no cluster, with the race detector.
func unit(ctx context.Context, j *job) error {
	errs := errors.Join(raced(ctx, j), installBrowser(ctx, j))
	nested, err := j.nestedTests(ctx)
	return errors.Join(errs, err, j.parts(ctx, nested...), fuzz(ctx, j, shortFuzz, false))
}

// unraced runs them without it. `make test` has no time to compile all packages a second time.
func unraced(ctx context.Context, j *job) error {
	errs := installBrowser(ctx, j)
	tests, err := j.unracedTests(ctx)
	return errors.Join(errs, err, j.parts(ctx, tests...), fuzz(ctx, j, shortFuzz, false))
}

// unracedTests returns the unit tests of `make test`. Those of the nested modules are first, because the
// ones of the root module take longest. The run's limit applies to all of them together: on a slow
// machine, none may be left out because others before it took long.
func (j *job) unracedTests(ctx context.Context) ([]part, error) {
	tests, err := j.nestedTests(ctx, browserRequired)
	return append(tests, part{"unit tests", func(r *result) error {
		// On a busy machine the tests of the installer have taken half an hour: they have the lowest priority.
		return j.gotestsum(ctx, r, "unit", ".", "go", "test", "-vet=off", "-json", "-timeout=1h", "./...")
	}}), err
}

// raced runs the unit tests of the root module. golangci-lint runs the analyzers of go vet.
func raced(ctx context.Context, j *job) error {
	concurrent, sequential, err := j.packages(ctx)
	if err != nil {
		return err
	}
	errs := j.part(ctx, "unit tests, with the race detector", func(r *result) error {
		// The race detector needs cgo.
		if err := host.Install(ctx, j.out, map[string]string{"gcc": "gcc libc6-dev"}); err != nil {
			return err
		}
		return j.gotestsum(ctx, r, "unit", ".", append([]string{
			"env", "CGO_ENABLED=1", "go", "test", "-vet=off", "-json", "-race", "-timeout=30m",
		}, concurrent...)...)
	})
	errs = errors.Join(errs, j.part(ctx, "unit tests of the installer and the suites", func(r *result) error {
		return j.gotestsum(ctx, r, "unit-sequential", ".", append([]string{"go", "test", "-vet=off", "-json", "-timeout=30m"},
			sequential...)...)
	}))
	return errs
}

// browserRequired is an environment variable with its value. It makes the tests of the pages of reports fail
// without a browser. Otherwise, they are skipped.
const browserRequired = "BULKHEAD_BROWSER_REQUIRED=true"

// installBrowser installs what the tests of the pages of reports need: a browser and a font. It returns an
// error only after an interrupt, because the tests report a browser that is missing.
func installBrowser(ctx context.Context, j *job) error {
	browser := map[string]string{"chromium": "chromium fonts-dejavu-core"}
	if err := host.Install(ctx, j.out, browser); err != nil {
		fmt.Fprintln(j.out, "cannot install the browser for the tests of the pages of reports:", err)
	}
	return ctx.Err()
}

// nestedTests returns the tests of the nested modules. environment has settings of the form NAME=value.
func (j *job) nestedTests(ctx context.Context, environment ...string) ([]part, error) {
	// The tests of nested modules call upstream's code millions of times, in sequence. The race
	// detector finds nothing there, and makes the tests ten times slower.
	test := slices.Concat([]string{"env"}, environment,
		[]string{"go", "test", "-vet=off", "-json", "-timeout=30m", "./..."})
	nested, err := j.nestedModules()
	var tests []part
	for _, module := range nested {
		tests = append(tests, part{"tests of " + module, func(r *result) error {
			return j.gotestsum(ctx, r, strings.ReplaceAll(module, "/", "-"), module, test...)
		}})
	}
	return tests, err
}

// packages returns the packages of the root module. Sequential ones are tested without the race
// detector: without a cluster, the suites only compare lists, and would be compiled a second time; and
// the installer's thousands of interrupted runs, one after the other, take ten times as long with it.
func (j *job) packages(ctx context.Context) (concurrent, sequential []string, err error) {
	suites, err := j.findSuites(true)
	if err != nil {
		return nil, nil, err
	}
	list, err := j.command(ctx, "go", "list", "./...").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the packages: %w", err)
	}
	for name := range strings.FieldsSeq(string(list)) {
		isSuite := strings.HasSuffix(path.Dir(name), "/e2e") && slices.Contains(suites, path.Base(name))
		if isSuite || strings.HasSuffix(name, "/components/install/controlplane") {
			sequential = append(sequential, name)
		} else {
			concurrent = append(concurrent, name)
		}
	}
	return concurrent, sequential, nil
}

// nestedModules returns the folders of Bulkhead's Go modules other than the root.
func (j *job) nestedModules() (modules []string, err error) {
	err = fs.WalkDir(os.DirFS(j.root), "components", func(file string, _ fs.DirEntry, err error) error {
		if path.Base(file) == "go.mod" {
			modules = append(modules, path.Dir(file))
		}
		return err
	})
	return append(modules, "kind/registrytest", "scripts/release"), err
}

// shortFuzz is the number of inputs of each fuzz target in `make test` and `make unit`.
const shortFuzz = 1000

// fuzz runs each fuzz target. In parallel to other jobs it uses only one processor. If guided, coverage
// guides the choice of inputs, and all dependencies are compiled again.
func fuzz(ctx context.Context, j *job, inputs int, guided bool) error {
	processors := runtime.NumCPU()
	if j.name != "" {
		processors = 1
	}
	return j.part(ctx, fmt.Sprintf("fuzz targets, %d inputs each", inputs), func(r *result) error {
		return j.gotestsum(ctx, r, "fuzz", ".", filepath.Join(j.root, "scripts", "fuzz.sh"), strconv.Itoa(processors),
			strconv.Itoa(inputs), strconv.FormatBool(guided))
	})
}

// gotestsum runs a program that prints the events of `go test -json`. Its tests have no access to a
// cluster.
func (j *job) gotestsum(ctx context.Context, r *result, name, folder string, args ...string) error {
	build := j.command(ctx, "go", "-C", "scripts/tools", "build", "-o", j.path("bin")+"/", "gotest.tools/gotestsum")
	if err := j.run(build); err != nil {
		return err
	}
	directory, remove, err := temporary(ctx)
	if err != nil {
		return err
	}
	defer remove()
	report := j.path("unit", name+".junit.xml")
	cmd := j.background(ctx, append([]string{
		"env", "-u", "E2E_KUBECONFIG", "TMPDIR=" + directory, "GOTMPDIR=" + os.TempDir(),
		j.path("bin", "gotestsum"), "--format=pkgname-and-test-fails", "--format-hide-empty-pkg",
		"--hide-summary=failed", "--junitfile=" + report, "--raw-command", "--",
	}, args...)...)
	cmd.Dir = filepath.Join(j.root, folder)
	if err := os.RemoveAll(report); err != nil {
		return err // an old report must not be counted
	}
	ran := j.run(cmd)
	err = r.judge(ran, r.readJUnit(report))
	// The report only shows that a package does not build. gotestsum prints the reason.
	if _, compiler, found := strings.Cut(fmt.Sprint(ran), "\n=== Errors\n"); found {
		r.failures = append(r.failures, "\n"+compiler)
	}
	return err
}
