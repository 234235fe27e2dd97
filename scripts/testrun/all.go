// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// certFlags give the certificates so short a life that the suite lives through
// two renewals of them.
var certFlags = []string{"--install-flag=--cert-validity=10m", "--install-flag=--cert-renew-before=7m"}

// second is a cluster beside the first, for a part of the run.
const second = refcluster.DefaultName + "-second"

// everything is verify, unit and the suite in all three profiles of clusters that are ours:
// one that the environment names is not to be switched.
//
// The certificates are watched for ten minutes, nearly all of it waiting, so that is done
// beside all that leaves their cluster alone; and nothing else is asked of it meanwhile,
// because each renewal of the API server's certificate costs the calls that are under way
// (docs/operations.md). So the other two profiles have a cluster of their own, when the
// compiler is done. Hardened is last, made anew with certificates that live as long
// as they do for a user, and is what a person finds afterwards.
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
	r.noSkips = false
	err := errors.Join(verify(ctx, r), tests(ctx, r))
	// The suites wait more than they compute; fuzzing is the other way round.
	fuzzing := begin(fuzzed, func(out io.Writer) (count, error) { return fuzzAll(ctx, r.root, out) })
	err = errors.Join(err, r.besides(ctx), r.await(certificates), r.hardened(ctx))
	return errors.Join(err, r.await(fuzzing))
}

// besides is what is done in the second cluster.
func (r *run) besides(ctx context.Context) error {
	r.cluster = second
	defer func() { r.cluster = "" }()
	err := errors.Join(r.inTree(ctx), r.parity(ctx))
	return errors.Join(err, r.refcluster(context.WithoutCancel(ctx), "down", "--name="+second))
}

// inTree is also where the API server judges the manifests, and where the crawl finds the
// number that the last one is compared with.
func (r *run) inTree(ctx context.Context) error {
	if err := r.switchTo(ctx, "in-tree", "--fresh"); err != nil {
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

// hardened has everything, so a spec that is skipped there is a failure.
func (r *run) hardened(ctx context.Context) error {
	// Anew: an installation remembers how long certificates are to live, and the API server
	// of one that is told otherwise takes the next one at a moment of its own.
	if err := r.switchTo(ctx, "hardened", "--fresh"); err != nil {
		return err
	}
	r.noSkips = true
	return r.suites(ctx, "hardened", hardenedRuns...)
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
		all := append([]string{"up", "--name=" + r.clusterName(), "--profile=" + profile, "--node-image=" + envOr("NODE_IMAGE", "auto")}, flags...)
		return count{}, r.refcluster(ctx, all...)
	})
}
