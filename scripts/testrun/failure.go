// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bulkhead-k8s/bulkhead/e2e/reliability"
)

// The long forms of the suite failure. `make test` runs the short ones.
var (
	failureLong = selection{name: "failure", label: "long && !soak", suites: []string{"failure"}, timeout: 3 * time.Hour}
	soakTest    = selection{name: "soak", label: "soak", suites: failureLong.suites}
)

// failures runs the long form of every disruption, or of those that a label filter selects, on the
// cluster that is up or on a new one. docs/reliability.md has the last result of each disruption.
func failures(ctx context.Context, j *job, label string) error {
	s := failureLong
	if label != "" {
		s.label += " && (" + label + ")"
	}
	profile, err := j.readyForFailure(ctx)
	if err != nil {
		return err
	}
	err = j.specs(ctx, profile, s)
	return errors.Join(err, j.writePage(ctx, profile, s.name))
}

// soak runs the soak test, and writes docs/soak.svg.
func soak(ctx context.Context, j *job, minutes int) error {
	profile, err := j.readyForFailure(ctx)
	if err != nil {
		return err
	}
	s := soakTest
	s.timeout = time.Duration(minutes)*time.Minute + time.Hour
	s.environment = []string{"E2E_SOAK_MINUTES=" + strconv.Itoa(minutes)}
	err = j.specs(ctx, profile, s)
	return errors.Join(err, j.writeFigure(ctx, profile, s.name))
}

// readyForFailure makes a cluster in profile hardened ready, and the suites.
func (j *job) readyForFailure(ctx context.Context) (profile string, err error) {
	profile, err = j.ready(ctx, "hardened")
	if err == nil && profile != "hardened" {
		err = fmt.Errorf("the cluster has the profile %s: run make up PROFILE=hardened first", profile)
	}
	if err != nil {
		return "", err
	}
	return profile, j.compileSuites(ctx)
}

// writePage adds the results of a run to the last result of each disruption, which are in
// docs/reports/reliability, and writes them all to docs/reliability.md. It also runs after a failure:
// the page says what failed.
func (j *job) writePage(ctx context.Context, profile, selection string) error {
	return j.step(ctx, "writing docs/reliability.md", func(*result) error {
		run, err := reliability.ReadResults(j.path("e2e", profile, selection, reliability.Directory))
		if err != nil {
			return err
		}
		if len(run) == 0 {
			return errors.New("cannot write the page: the run has no results")
		}
		kept := filepath.Join(j.root, "docs", "reports", reliability.Directory)
		if err := reliability.Keep(run, kept); err != nil {
			return err
		}
		all, err := reliability.ReadResults(kept)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(j.root, "docs", "reliability.md"), []byte(reliability.Page(all)), 0o644)
	})
}

// writeFigure writes docs/soak.svg from the samples of a run.
func (j *job) writeFigure(ctx context.Context, profile, selection string) error {
	return j.step(ctx, "writing docs/soak.svg", func(*result) error {
		soak, err := reliability.ReadSoak(j.path("e2e", profile, selection, "soak.json"))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(j.root, "docs", "soak.svg"), []byte(soak.SVG()), 0o644)
	})
}
