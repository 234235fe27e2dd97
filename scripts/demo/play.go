// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// runner runs a script as root on a node and returns its output, of both streams. A script that
// fails is not an error: its output says why.
type runner interface {
	run(ctx context.Context, node, script string) (output string, err error)
}

// player plays the steps on the screen.
type player struct {
	screen *screen
	runner runner
	steps  []step
	// retryTimeout is how long a command is repeated, and interval the time between two attempts.
	retryTimeout, interval time.Duration
	// got are the outcomes of each step, by profile.
	got map[string][]outcome
	// wrong says which outcomes were not the expected ones.
	wrong []error
}

// act plays all steps on the profile that is installed. It stops only after an interrupt, or if a
// node cannot be reached.
func (p *player) act(ctx context.Context, profile string) error {
	for i, s := range p.steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.screen.heading(cyan, "─", numbered(i, len(p.steps), s.title))
		if profile == inTree {
			p.screen.say(s.words)
		}
		got, err := p.play(ctx, s, profile)
		if err != nil {
			return err
		}
		p.got[profile] = append(p.got[profile], got)
		p.verdict(i, s, profile, got)
	}
	return nil
}

const longestSkim = 5 * time.Second

// play runs the commands of a step, shows them and their answers, and removes what they made.
func (p *player) play(ctx context.Context, s step, profile string) (outcome, error) {
	var all strings.Builder
	for _, c := range s.commands {
		if ctx.Err() != nil {
			return unclear, ctx.Err()
		}
		p.screen.command(c, profile == inTree)
		output, err := p.answer(ctx, c, c.awaited(profile))
		if err != nil {
			return unclear, err
		}
		p.screen.answer(output)
		// An answer is skimmed, not read.
		p.screen.pause(min(beat/2+time.Duration(len(output))*reading/2, longestSkim))
		all.WriteString(printable(output))
	}
	return s.judge(all.String()), undoSteps(ctx, p.runner, s)
}

// unavailable matches the errors of kubectl and kubelet-auth-proxy while the API server does not
// answer. The command is then run again: the answer that counts is a decision.
var unavailable = regexp.MustCompile(`(?i)unable to connect|connection refused|handshake timeout|i/o timeout|` +
	`context deadline exceeded|too many requests|etcdserver: |the server is currently unable|` +
	`unexpected EOF|the TokenReview failed`)

// answer returns the output of a command. It repeats the command until the awaited text is in the
// output, but not for longer than retryTimeout.
func (p *player) answer(ctx context.Context, c command, awaited string) (string, error) {
	for deadline := time.Now().Add(p.retryTimeout); ; {
		output, err := p.runner.run(ctx, c.node, c.lines)
		if err != nil || time.Now().After(deadline) ||
			strings.Contains(output, awaited) && !unavailable.MatchString(output) {
			return output, err
		}
		select {
		case <-ctx.Done():
			return output, ctx.Err()
		case <-time.After(p.interval):
		}
	}
}

func (p *player) verdict(i int, s step, profile string, got outcome) {
	const arrow = "→ "
	switch {
	case got != s.expected(profile):
		p.wrong = append(p.wrong, fmt.Errorf("step %d, %s, on %s: expected %q, got %q", i+1, s.title, profile,
			s.expected(profile), got))
		p.screen.line(yellow, arrow+profile+": "+string(got)+". The demo expected: "+string(s.expected(profile))+".")
	case profile == inTree:
		text := arrow + inTree + ": " + string(got) + ". " + s.meaning
		p.screen.line(tint(s, got), text)
		p.screen.read(s.meaning)
		return
	default:
		before := unclear
		if i < len(p.got[inTree]) {
			before = p.got[inTree][i]
		}
		p.screen.print(p.screen.paint(tint(s, before), arrow+inTree+": "+string(before)) + "   " +
			p.screen.paint(tint(s, got), arrow+hardened+": "+string(got)) + "\n")
	}
	p.screen.pause(2 * beat)
}

// tint is red for an attack that works.
func tint(s step, got outcome) color {
	if got == allowed && s.hardened != allowed {
		return red
	}
	return green
}

// table shows the outcomes of both acts side by side.
func (p *player) table() {
	p.screen.heading(cyan, "═", "One stolen certificate")
	row := func(title, first, second string) string { return fmt.Sprintf("%-36s %-10s ", title, first) + second }
	p.screen.print(p.screen.paint(bold, row("", inTree, hardened)) + "\n")
	for i, s := range p.steps {
		was, is := p.got[inTree][i], p.got[hardened][i]
		if was == unclear {
			was = "unclear"
		}
		colors := p.screen.paint(tint(s, is), string(is))
		p.screen.print(row(s.title, string(was), colors) + "\n")
		p.screen.pause(beat / 3)
	}
	p.screen.print("\n")
}

// undoSteps removes what steps have made outside of the namespaces of the demo.
func undoSteps(ctx context.Context, r runner, steps ...step) error {
	var failed []error
	for _, s := range steps {
		for node, script := range map[string]string{worker: s.undo.worker, controlPlane: s.undo.admin} {
			if script == "" {
				continue
			}
			if _, err := r.run(ctx, node, script); err != nil {
				failed = append(failed, fmt.Errorf("cannot clean up after %q: %w", s.title, err))
			}
		}
	}
	return errors.Join(failed...)
}
