// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
)

//go:embed objects.yaml
var objects string

//go:embed payments.yaml
var staticPod string

// clusterAccess is the cluster of the tour.
type clusterAccess interface {
	runner
	// output runs a script that must not fail.
	output(ctx context.Context, node, script string) (string, error)
	installed(ctx context.Context) (settings, error)
	switchTo(ctx context.Context, want settings, step func(line string)) error
}

// tour plays both acts, and leaves the cluster as it was.
type tour struct {
	player
	cluster clusterAccess
	// before are the settings at the start, and now the present ones. now has no profile during a
	// switch: the tour then does not know which one is installed.
	before, now settings
}

// cleanUpTime is how long the end may take, with a switch of the profile on a busy machine.
const cleanUpTime = 20 * time.Minute

// run plays the tour. An error says what was not as expected, or what failed.
func (t *tour) run(ctx context.Context) (err error) {
	if t.before, err = t.cluster.installed(ctx); err != nil {
		return err
	}
	t.now = t.before
	if err := t.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.cleanUp(ctx)) }()
	if err := t.story(ctx); err != nil {
		return err
	}
	return errors.Join(t.wrong...)
}

func (t *tour) story(ctx context.Context) error {
	t.screen.heading(cyan, "═", "One stolen certificate")
	for _, text := range intro {
		t.screen.line(plain, text)
	}
	if t.before != fullHardened {
		t.screen.line(plain, "The cluster has the profile "+t.before.profile+". The demo puts it back at the end.")
	}
	if err := t.setUp(ctx); err != nil {
		return err
	}
	if t.now == (settings{profile: inTree}) {
		// Otherwise there is time to read during the switch.
		t.screen.read(strings.Join(intro, " "))
	}
	if err := t.profileAct(ctx, "Act 1: Kubernetes alone", settings{profile: inTree}); err != nil {
		return err
	}
	if err := t.profileAct(ctx, "Act 2: the same requests, with Bulkhead", fullHardened); err != nil {
		return err
	}
	t.table()
	t.screen.line(plain, "Each ID is a rule in docs/rules.md. `bulkhead why 'MESSAGE'` explains a denial.")
	t.screen.pause(4 * beat)
	return nil
}

// fullHardened is the profile of act 2.
var fullHardened = settings{profile: hardened, kubeletAPI: true, nodeScope: true}

// profileAct switches the profile, and plays the steps.
func (t *tour) profileAct(ctx context.Context, title string, want settings) error {
	t.screen.heading(bold, "═", title)
	if err := t.change(ctx, want); err != nil {
		return err
	}
	if err := t.ready(ctx); err != nil {
		return err
	}
	return t.act(ctx, want.profile)
}

// change switches to the settings if the cluster has others. The command is shown as it is run.
func (t *tour) change(ctx context.Context, want settings) error {
	if t.now == want {
		return nil
	}
	t.screen.print(t.screen.paint(green, "admin$ ") + t.screen.paint(bold, "make up PROFILE="+want.profile) + "\n")
	t.now = settings{}
	if err := t.cluster.switchTo(ctx, want, func(line string) { t.screen.line(faint, printed(line)) }); err != nil {
		return err
	}
	t.now = want
	return nil
}

func printed(line string) string { return strings.TrimRight(printable(line), "\n") }

// label marks the objects of the demo.
const label = "bulkhead.dev/demo"

// prepare removes what a demo has left that was killed, and stops if a user's object would be lost.
func (t *tour) prepare(ctx context.Context) error {
	left, err := t.cluster.output(ctx, controlPlane, "kubectl get namespaces -l "+label+" -o name")
	if err != nil {
		return fmt.Errorf("cannot look for objects of an earlier demo: %w", err)
	}
	if strings.TrimSpace(left) != "" {
		t.screen.line(plain, "An earlier demo was killed. Its objects are removed first.")
		if err := t.removeAll(ctx); err != nil {
			return err
		}
	}
	taken, err := t.cluster.output(ctx, controlPlane,
		"kubectl get namespaces demo-shop demo-payments -o name --ignore-not-found\n"+
			"kubectl get node "+worker+" -o jsonpath='{.spec.unschedulable}'")
	if err != nil {
		return fmt.Errorf("cannot look at the cluster: %w", err)
	}
	switch {
	case strings.Contains(taken, "namespace/"):
		return errors.New("cannot start: the namespace demo-shop or demo-payments exists, and is not of the demo; remove it")
	case strings.Contains(taken, "true"):
		return errors.New("cannot start: " + worker + " is cordoned, and the demo would uncordon it; uncordon it first")
	}
	return nil
}

// setUp makes the objects of the story. The pods start during the switch of the profile.
func (t *tour) setUp(ctx context.Context) error {
	put := "cat >payments.yaml <<'END'\n" + staticPod + "END\n"
	if _, err := t.cluster.output(ctx, worker, put); err != nil {
		return fmt.Errorf("cannot write the attacker's file: %w", err)
	}
	if _, err := t.cluster.output(ctx, controlPlane, "kubectl create -f - <<'END'\n"+objects+"END\n"); err != nil {
		return fmt.Errorf("cannot make the objects of the story: %w", err)
	}
	return nil
}

// ready waits until the pods of the story run, or have ended.
func (t *tour) ready(ctx context.Context) error {
	const wait = "kubectl wait pod --timeout=2m "
	_, err := t.cluster.output(ctx, controlPlane, "set -e\n"+
		wait+"-n demo-shop -l runs=on --for=condition=Ready\n"+
		wait+"-n demo-payments -l runs=on --for=condition=Ready\n"+
		wait+"-n demo-shop migration --for=jsonpath='{.status.phase}'=Succeeded\n")
	if err != nil {
		return fmt.Errorf("the pods of the story are not ready: %w", err)
	}
	return nil
}

// cleanUp removes what the demo has made and puts the profile back, also after an interrupt.
func (t *tour) cleanUp(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	if interrupted {
		t.screen.line(yellow, "\nInterrupted. The demo removes what it made, and puts the profile "+t.before.profile+
			" back. This takes a minute or two. A second Ctrl-C stops it.")
	}
	err := t.removeAll(ctx)
	if back := t.change(ctx, t.before); back != nil {
		err = errors.Join(err, fmt.Errorf("the profile %s is not back: run `make up PROFILE=%s`: %w", t.before.profile,
			t.before.profile, back))
	}
	if err == nil {
		t.screen.line(plain, "The cluster is as before: profile "+t.before.profile+", and no object of the demo.")
	}
	return err
}

// removeAll removes what the demo has made.
func (t *tour) removeAll(ctx context.Context) error {
	err := undoSteps(ctx, t.cluster, t.steps...)
	_, failed := t.cluster.output(ctx, controlPlane, "kubectl delete namespaces,clusterroles,clusterrolebindings -l "+
		label+" --ignore-not-found --timeout=3m")
	err = errors.Join(err, failed)
	for _, node := range []string{worker, controlPlane} {
		_, failed := t.cluster.output(ctx, node, "rm -rf "+workDir)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("cannot remove everything: %w; run `make demo` again, which removes it first", err)
	}
	return nil
}
