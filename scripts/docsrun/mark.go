// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Place is where a block runs.
type Place string

// The places that a mark can name.
const (
	ControlPlane Place = "control-plane" // every control-plane host, as root
	EachNode     Place = "each-node"     // every node, control plane and workers, as root
	Admin        Place = "admin"         // the machine that runs docsrun, with KUBECONFIG
	None         Place = "none"          // the block does not run, and the mark says why
)

var places = []Place{ControlPlane, EachNode, Admin, None}

// defaultTimeout is the timeout of a block whose mark has none. `bulkhead install` takes about 45 s,
// and gives up after 3 minutes for each component.
const defaultTimeout = 10 * time.Minute

// Mark says where a block runs, and what is expected of it.
type Mark struct {
	Place Place
	// Reason is why the block does not run. Only the place none has it.
	Reason string
	// Before is a script that makes the situation for which the block is. It runs once, before the
	// block.
	Before string
	// Instead is a script that runs in place of the commands, where a kind cluster needs other ones:
	// its nodes have no SSH, and the test has no registry.
	Instead string
	// Exit is the expected exit code.
	Exit    int
	Timeout time.Duration
	// Retry is how long the block runs again and again until it succeeds. A block that shows the
	// state of static pods needs it.
	Retry time.Duration
}

// markPrefix begins the text of a comment that is a mark.
const markPrefix = "run:"

// parseMark parses the text of a comment, as in `run: none; reason: needs a registry`. The reason,
// or a script, is always last, so it may contain semicolons.
func parseMark(text string) (Mark, error) {
	m := Mark{Timeout: defaultTimeout}
	place, rest, more := strings.Cut(strings.TrimPrefix(text, markPrefix), ";")
	m.Place = Place(strings.TrimSpace(place))
	if !slices.Contains(places, m.Place) {
		return m, fmt.Errorf("unknown place %q: use one of %q", m.Place, places)
	}
	seen := map[string]bool{}
	for more {
		key, value, found := strings.Cut(rest, ":")
		key = strings.TrimSpace(key)
		if key == "reason" || key == "before" || key == "instead" {
			more = false
		} else {
			value, rest, more = strings.Cut(value, ";")
		}
		value = strings.TrimSpace(value)
		if !found || value == "" {
			return m, fmt.Errorf("%q has no value: write it as key: value", key)
		}
		if seen[key] {
			return m, fmt.Errorf("%q is set twice", key)
		}
		seen[key] = true
		if err := m.set(key, value); err != nil {
			return m, err
		}
	}
	return m, m.validate()
}

func (m *Mark) set(key, value string) (err error) {
	switch key {
	case "reason":
		m.Reason = value
	case "before":
		m.Before = value
	case "instead":
		m.Instead = value
	case "exit":
		if m.Exit, err = strconv.Atoi(value); err != nil || m.Exit < 0 || m.Exit > 255 {
			return fmt.Errorf("exit: %q is not an exit code", value)
		}
	case "timeout":
		m.Timeout, err = parseDuration(key, value)
	case "retry":
		m.Retry, err = parseDuration(key, value)
	default:
		return fmt.Errorf("unknown key %q: use reason, exit, timeout, retry, before or instead", key)
	}
	return err
}

func parseDuration(key, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q is not a duration such as 5m", key, value)
	}
	return d, nil
}

func (m *Mark) validate() error {
	switch {
	case m.Place == None && m.Reason == "":
		return errors.New("a block that does not run needs a reason: <!-- run: none; reason: … -->")
	case m.Place == None && (m.Exit != 0 || m.Timeout != defaultTimeout || m.Retry != 0 ||
		m.Before+m.Instead != ""):
		return errors.New("exit, timeout, retry, before and instead are for blocks that run")
	case m.Instead != "" && m.Exit != 0:
		return errors.New("the exit code is that of the page's commands, and instead replaces them")
	case m.Place != None && m.Reason != "":
		return errors.New("reason is for blocks that do not run")
	}
	return nil
}
