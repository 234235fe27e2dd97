// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package refcluster has what the programs that measure the reference cluster share.
package refcluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Switch runs the command that switches the cluster to a profile, in the checkout. {profile} in the
// command stands for the profile. The error contains the output of the command.
func Switch(ctx context.Context, checkout, command, profile string) error {
	words := strings.Fields(strings.ReplaceAll(command, "{profile}", profile))
	if len(words) == 0 {
		return errors.New("cannot switch the profile: -up is empty")
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = checkout
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot switch to profile %s: %w\n%s", profile, err, out)
	}
	return nil
}

// Numbers parses positive numbers that are separated by commas.
func Numbers(text string) (all []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(word)
		if err != nil || number < 1 {
			return nil, fmt.Errorf("%q is not a positive number", word)
		}
		all = append(all, number)
	}
	return all, nil
}
