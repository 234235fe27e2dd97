// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
)

// hardened is what a person finds afterwards.
func (l *lane) hardened(ctx context.Context) error {
	// What an earlier run left in a cluster is no part of the test.
	if err := l.switchTo(ctx, "hardened", "--fresh"); err != nil {
		return err
	}
	err := l.suites(ctx, "hardened", busyRuns...)
	l.calm.pass()
	return errors.Join(err, l.suites(ctx, "hardened", disruptiveRun))
}

// certificates are watched for ten minutes. Nothing else is asked of their cluster, because
// each renewal of the API server's certificate costs the calls that are under way
// (docs/operations.md).
func (l *lane) certificates(ctx context.Context) error {
	if err := l.switchTo(ctx, "hardened", append([]string{"--fresh"}, certFlags...)...); err != nil {
		return err
	}
	l.calm.pass()
	return l.suites(ctx, "hardened", certificatesRun)
}

// inTree is also where the API server judges the manifests, and where the crawl finds the
// number that hardened's is compared with.
func (l *lane) inTree(ctx context.Context) error {
	if err := l.switchTo(ctx, "in-tree", "--fresh"); err != nil {
		return err
	}
	err := l.timed("manifests against the API server", func() (count, error) { return l.works.manifests(ctx, l) })
	return errors.Join(err, l.suites(ctx, "in-tree", rulesRun, disruptiveRun, crawlRun))
}

func (l *lane) parity(ctx context.Context) error {
	if err := l.switchTo(ctx, "parity"); err != nil {
		return err
	}
	return l.suites(ctx, "parity", rulesRun, disruptiveRun)
}

// hardenedToo takes from the lane of hardened, which is the longest, what it can.
func (l *lane) hardenedToo(ctx context.Context) error {
	if err := l.switchTo(ctx, "hardened"); err != nil {
		return err
	}
	l.calm.pass()
	return l.suites(ctx, "hardened", nodeScopeDisruptiveRun)
}

// switchTo brings the lane's cluster up in the profile, or switches it.
func (l *lane) switchTo(ctx context.Context, profile string, flags ...string) error {
	if err := l.await(ctx, l.turn, "its turn"); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// A storm in a cluster beside it would have nodes that start wait for minutes.
	release, err := l.works.machine(ctx, func() { fmt.Fprintln(l.out, "    waiting for a heavy spec of another lane") })
	if err != nil {
		return err
	}
	defer release()
	err = l.timed("make up PROFILE="+profile, func() (count, error) {
		all := append([]string{"up", "--name=" + l.cluster, "--profile=" + profile, "--node-image=" + envOr("NODE_IMAGE", "auto")}, flags...)
		return count{}, l.works.refcluster(ctx, l.out, all...)
	})
	if err == nil {
		l.makeRoom(ctx)
	}
	return err
}

// removed takes the lane's cluster away, whatever came of it, and also after an
// interruption.
func (l *lane) removed(ctx context.Context, came error) error {
	return errors.Join(came, l.timed("make down of "+l.cluster, func() (count, error) {
		return count{}, l.works.refcluster(context.WithoutCancel(ctx), l.out, "down", "--name="+l.cluster)
	}))
}
