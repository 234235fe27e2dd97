// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
)

// certFlags give the certificates so short a life that the suite lives through
// two renewals of them.
var certFlags = []string{"--install-flag=--cert-validity=10m", "--install-flag=--cert-renew-before=7m"}

// everything is verify, unit and the suite in all three profiles of one cluster,
// which is ours: a cluster that the environment names is not to be switched.
//
// The certificates are watched for ten minutes and more, nearly all of it waiting, so
// that is done beside all that leaves the cluster alone; and nothing else is asked of
// the cluster meanwhile, because each renewal of the API server's certificate costs
// the calls that are under way (docs/operations.md). The next profiles are installed
// anew, with certificates that live as long as they do for a user, and hardened is
// last: it is what a person wants to find. Node scope, which is off by default, is switched
// on at the very end.
func everything(ctx context.Context, r *run) error {
	if err := onlyOurCluster(); err != nil {
		return err
	}
	// What an earlier run left in a cluster is no part of the test.
	if err := r.switchTo(ctx, "hardened", append([]string{"--fresh"}, certFlags...)...); err != nil {
		return errors.Join(err, verify(ctx, r), unit(ctx, r))
	}
	r.noSkips = true
	certificates := r.beginSuite(ctx, "hardened", certificatesRun)
	err := errors.Join(verify(ctx, r), tests(ctx, r), r.await(certificates))
	r.noSkips = false
	// The suites wait more than they compute; fuzzing is the other way round.
	fuzzing := begin(fuzzed, func(out io.Writer) (count, error) { return fuzzAll(ctx, r.root, out) })
	err = errors.Join(err, r.inTree(ctx), r.parity(ctx), r.hardened(ctx))
	return errors.Join(err, r.await(fuzzing))
}

// inTree is also where the API server judges the manifests, and where the crawl finds the
// number that the last one is compared with.
func (r *run) inTree(ctx context.Context) error {
	if err := r.switchTo(ctx, "in-tree"); err != nil {
		return err
	}
	err := r.timed("manifests against the API server", func() (count, error) { return r.manifestsAgainstAPI(ctx) })
	return errors.Join(err, r.suites(ctx, "in-tree", rulesRun, disruptiveRun, crawlRun))
}

func (r *run) parity(ctx context.Context) error {
	if err := r.switchTo(ctx, "parity"); err != nil {
		return err
	}
	return r.suites(ctx, "parity", rulesRun, disruptiveRun)
}

// hardened is last, and node scope the last of it.
func (r *run) hardened(ctx context.Context) error {
	if err := r.switchTo(ctx, "hardened"); err != nil {
		return err
	}
	r.noSkips = true
	err := r.suites(ctx, "hardened", rulesRun, disruptiveRun)
	if switched := r.switchTo(ctx, "hardened", "--node-scope=true"); switched != nil {
		return errors.Join(err, switched)
	}
	return errors.Join(err, r.suites(ctx, "hardened", nodeScopeRun, crawlRun))
}

func onlyOurCluster() error {
	for name, value := range map[string]string{
		"E2E_KUBECONFIG": "", "E2E_PROFILE": "",
		// Asked for, so that specs fail where it does not work, instead of skipping.
		"E2E_NODE_EXEC": "docker exec -i {node}",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// switchTo brings the cluster up in the profile, or switches it.
func (r *run) switchTo(ctx context.Context, profile string, flags ...string) error {
	return r.timed("make up PROFILE="+profile, func() (count, error) {
		all := append([]string{"up", "--profile=" + profile, "--node-image=" + envOr("NODE_IMAGE", "auto")}, flags...)
		return count{}, r.refcluster(ctx, all...)
	})
}
