// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The nodes of the reference cluster. On the worker, commands run with the kubelet's credentials. On
// the control-plane node, they run with the administrator's.
const (
	worker       = "bulkhead-worker"
	controlPlane = "bulkhead-control-plane"
)

// step is one attempt with the stolen credentials. It is played on in-tree and on hardened.
type step struct {
	title string
	// words say in one or two sentences what the attacker tries.
	words string
	// commands are run in this order.
	commands []command
	// undo is a script for the worker and one for the administrator. Both can run at any time.
	undo undo
	// proof matches the output of the commands if the attempt has worked.
	proof *regexp.Regexp
	// inTree and hardened are the expected outcomes.
	inTree, hardened outcome
	// meaning says what follows from the outcome on in-tree.
	meaning string
}

type undo struct{ worker, admin string }

// command is a line of bash, or several that run together. They are shown as they are written.
type command struct {
	node  string
	lines string
	// await is a text that the output gets only after some seconds, for example when a controller
	// has seen a change. The command is repeated until its output has the text.
	await await
}

// await has a text for each profile. If it is empty, the command runs once.
type await struct{ inTree, hardened string }

func (c command) awaited(profile string) string {
	if profile == inTree {
		return c.await.inTree
	}
	return c.await.hardened
}

func asKubelet(lines string) command { return command{node: worker, lines: lines} }

func asAdmin(lines string) command { return command{node: controlPlane, lines: lines} }

func (c command) until(inTree, hardened string) command {
	c.await = await{inTree, hardened}
	return c
}

// prompt is what stands before the lines on the screen.
func (c command) prompt() string {
	if c.node == worker {
		return "attacker$ "
	}
	return "admin$ "
}

// outcome is what the API server or the kubelet has decided, in words for the screen.
type outcome string

const (
	allowed outcome = "allowed"
	// unclear means that the attempt has not worked, and that no rule has denied it.
	unclear outcome = "neither allowed nor denied by a rule"
)

func deniedBy(rule rules.ID) outcome { return "denied by " + outcome(rule) }

// cited matches the rule ID at the end of a reason.
var cited = regexp.MustCompile(`\[([A-Z]{2}-[A-Z]+(?:-[0-9]+)?)\]`)

// judge returns the outcome that the output of a step shows. If the attempt has worked, a denial in
// the output does not count.
func (s step) judge(output string) outcome {
	if s.proof.MatchString(output) {
		return allowed
	}
	if found := cited.FindAllStringSubmatch(output, -1); found != nil {
		return deniedBy(rules.ID(found[len(found)-1][1]))
	}
	return unclear
}

func (s step) expected(profile string) outcome {
	if profile == inTree {
		return s.inTree
	}
	return s.hardened
}
