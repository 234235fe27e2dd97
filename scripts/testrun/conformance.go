// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// conformance builds bulkhead-conformance, runs it on the current cluster or on a new one as a user does,
// and checks what it reports. It gets no access to the hosts of nodes.
func conformance(ctx context.Context, j *job, profile string) error {
	profile, err := j.ready(ctx, profile)
	if err != nil {
		return err
	}
	program, report := j.path("bin", "bulkhead-conformance"), j.path("conformance-report", profile)
	err = j.step(ctx, "building bulkhead-conformance", func(*result) error {
		return j.run(j.command(ctx, "scripts/conformance.sh", program, j.path("conformance")))
	})
	if err != nil {
		return err
	}
	return j.step(ctx, "bulkhead-conformance, "+profile, func(r *result) error {
		if err := os.RemoveAll(report); err != nil {
			return err // an old report must not be judged
		}
		ran := j.run(j.command(ctx, program, "--kubeconfig="+j.kubeconfig(), "--output-dir="+report))
		if err := judgeReport(profile, report, ran); err != nil {
			return err
		}
		r.passed++
		return nil
	})
}

const (
	// notEnforced is the exit code of bulkhead-conformance for a rule that is not held, or an attack that
	// succeeds.
	notEnforced = 2
	// In a run that proves something, most rules have a result: without Bulkhead, 82 are held and 16 are not
	// proved.
	leastHeld, mostNotProved = 60, 30
)

// judgeReport returns an error unless the program ended as it must on this profile, and has written its
// three files. Without Bulkhead, upstream's rules are held, and others are not.
func judgeReport(profile, folder string, ran error) error {
	code := 0
	var exit *exec.ExitError
	if errors.As(ran, &exit) {
		code = exit.ExitCode()
	} else if ran != nil {
		return ran
	}
	text, err := os.ReadFile(filepath.Join(folder, "report.yaml"))
	if err != nil {
		return errors.Join(err, ran)
	}
	report, err := api.Parse(text)
	if err != nil {
		return err
	}
	for _, name := range []string{"report.html", "report.junit.xml"} {
		file, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if file.Size() == 0 {
			return fmt.Errorf("%s is empty", name)
		}
	}
	rules, attacks := report.Summary.Rules, report.Summary.Attacks
	enforced, wanted := rules.NotHeld == 0 && attacks.Succeeded == 0, 0
	if !enforced {
		wanted = notEnforced
	}
	if report.Metadata.Profile != profile || enforced != (profile == "hardened") || code != wanted ||
		rules.NotProved > mostNotProved || rules.Held < leastHeld {
		return fmt.Errorf("the report is of profile %s, with %d rules held, %d not held, %d not proved, %d attacks stopped, "+
			"%d succeeded, and the exit code is %d: this cannot be on profile %s", report.Metadata.Profile, rules.Held,
			rules.NotHeld, rules.NotProved, attacks.Stopped, attacks.Succeeded, code, profile)
	}
	return nil
}
