// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkReproducible builds the release twice, from two clones in different folders. The second
// build does not use the user's build cache, so it compiles everything. It returns an error if a
// file differs.
func checkReproducible(ctx context.Context, r release) error {
	src, _, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if src.dirty {
		fmt.Fprintln(r.log, "WARNING: the check builds the last commit, without the changes in this checkout")
	}
	work, err := os.MkdirTemp("", "bulkhead-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	first, second := r, r
	first.root, first.folder = filepath.Join(work, "a"), filepath.Join(work, "first")
	second.root, second.folder = filepath.Join(work, "another", "folder"), filepath.Join(work, "second")
	second.cache = filepath.Join(work, "cache")
	for _, one := range []release{first, second} {
		if err := clone(ctx, r.root, one.root, src.commit); err != nil {
			return err
		}
		if err := one.build(ctx); err != nil {
			return err
		}
	}
	count, err := sameSums(first.folder, second.folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.log, "reproducible: two builds of %s have the same %d files\n", src.commit, count)
	return nil
}

func clone(ctx context.Context, root, folder, commit string) error {
	if _, err := output(ctx, root, "git", "clone", "--quiet", "--no-checkout", root, folder); err != nil {
		return err
	}
	_, err := output(ctx, folder, "git", "checkout", "--quiet", "--detach", commit)
	return err
}

// sameSums compares the sums of two folders, and returns the number of files.
func sameSums(first, second string) (int, error) {
	var lines [2][]string
	for i, folder := range []string{first, second} {
		text, err := os.ReadFile(filepath.Join(folder, sumsFile))
		if err != nil {
			return 0, err
		}
		lines[i] = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	var different []string
	for _, line := range append(slices.Clone(lines[0]), lines[1]...) {
		if slices.Contains(lines[0], line) != slices.Contains(lines[1], line) {
			different = append(different, line)
		}
	}
	if len(different) > 0 {
		return 0, errors.New("the two builds differ, in the sums of the first and of the second:\n" +
			strings.Join(different, "\n"))
	}
	return len(lines[0]), nil
}
