// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// semver matches a version of semver.org with a leading v. It has no build metadata (+…), because
// the tag of an image cannot have it.
var semver = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)

func checkVersion(version string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("cannot release the version %q: it is not a semantic version; set VERSION to one like v0.2.0 or "+
			"v0.2.0-rc.1", version)
	}
	return nil
}

// source is the commit that is released.
type source struct {
	commit string
	// time is the time of the commit. All files of the release have it.
	time  time.Time
	dirty bool
}

func readSource(ctx context.Context, root string) (source, error) {
	head, err := output(ctx, root, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, err
	}
	commit, stamp, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("cannot read the time of the commit %s: %w", commit, err)
	}
	changes, err := output(ctx, root, "git", "status", "--porcelain")
	return source{commit: commit, time: time.Unix(seconds, 0).UTC(), dirty: changes != ""}, err
}

var (
	// errDirty means that a release would not have the bytes of its commit.
	errDirty = errors.New("cannot release this checkout: it has changes that are not committed; commit them, or, for " +
		"a test, set RELEASE_FLAGS=-allow-dirty")
	errChanged = errors.New("cannot finish the release: the checkout changed during the build; build it again")
)
