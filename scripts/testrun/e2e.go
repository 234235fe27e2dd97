// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// selected is the name of the selection by the user's label, from all suites.
const selected = "selected"

// endToEnd runs the suites on the current cluster.
func endToEnd(ctx context.Context, j *job, profile, label string) error {
	profile, err := j.ready(ctx, profile)
	if err != nil {
		return err
	}
	if err := j.compileSuites(ctx); err != nil {
		return err
	}
	switch {
	case label != "":
		return j.specs(ctx, profile, selection{name: selected, label: label})
	case profile != "hardened":
		return j.specs(ctx, profile, rules, crawl, disruptive)
	}
	return j.specs(ctx, profile, rules, nodeScope, crawl, disruptive, nodeScopeDisruptive, certificates)
}

// ready builds the tools, creates a cluster with the profile if none is up, and returns the profile of
// the cluster.
func (j *job) ready(ctx context.Context, profile string) (string, error) {
	if err := j.prepare(ctx); err != nil {
		return "", err
	}
	if os.Getenv("E2E_KUBECONFIG") == "" && j.refcluster(ctx, "status") != nil {
		if err := j.up(ctx, profile); err != nil {
			return "", err
		}
	}
	return j.installedProfile(ctx)
}

// everything runs checks, unit tests, and the suites in all three profiles, on new clusters.
//
// Two cores are too few for two suites at a time: specs fail because the API servers are slow. So
// heavy jobs run one after the other, in this order. A job unblocks the next one when it only has
// to wait, for certificates or for the effects of its disruptions. The jobs checks and unit are not heavy:
// they have the lowest priority, and begin with the first disruptive specs, which mostly wait. Earlier,
// they would only make the specs slower.
//
// After the limit no part starts, so that the run ends, with its count, before a CI system kills it.
func everything(ctx context.Context, j *job, limit time.Duration) error {
	j.results.limit = limit
	err := errors.Join(os.Setenv("E2E_KUBECONFIG", ""), os.Setenv("E2E_PROFILE", ""),
		// Set explicitly: specs must fail, not skip, if docker does not work.
		os.Setenv("E2E_NODE_EXEC", "docker exec -i {node}"))
	if err != nil {
		return err
	}
	ready := j.prepare(ctx)
	if ready == nil {
		ready = j.compileSuites(ctx)
	}
	calm := make(chan struct{})
	after := func(do func(context.Context, *job) error) func(context.Context, *job) error {
		return func(ctx context.Context, j *job) error { return errors.Join(j.wait(ctx, calm), do(ctx, j)) }
	}
	jobs := []*job{{name: "checks", do: after(quickChecks)}, {name: "unit", do: after(unraced)}}
	if ready != nil {
		close(calm)
	} else {
		jobs = append(jobs,
			&job{name: "bulkhead", cluster: refcluster.DefaultName, heavy: true, do: func(ctx context.Context, j *job) error {
				return hardened(ctx, j, sync.OnceFunc(func() { close(calm) }))
			}},
			&job{name: "renewals", cluster: refcluster.DefaultName + "-certificates", heavy: true, do: renewals},
			&job{name: "others", cluster: refcluster.DefaultName + "-others", heavy: true, do: others},
			// The last cluster: with five nodes more, disruptive specs of other jobs time out.
			&job{name: "hosts", cluster: haCluster, heavy: true, do: manyHosts(hosts)})
	}
	return errors.Join(ready, j.parallel(ctx, jobs...))
}

// hardened tests the profile hardened, and parity. Its cluster stays for the user. It calls calm when its
// suites no longer need all processors.
func hardened(ctx context.Context, j *job, calm func()) error {
	defer calm()
	if err := j.up(ctx, "hardened", "--fresh"); err != nil {
		return err
	}
	err := errors.Join(j.specs(ctx, "hardened", rulesOf["hardened"], nodeScope, crawl), thereAndBack(ctx, j))
	calm()
	err = errors.Join(err, j.specs(ctx, "hardened", disruptiveLoad))
	j.unblock()
	return errors.Join(err, j.specs(ctx, "hardened", disruptiveHere...))
}

// thereAndBack tests profile parity on a cluster with profile hardened, and the switch in both directions.
func thereAndBack(ctx context.Context, j *job) error {
	parity := j.up(ctx, "parity")
	if parity == nil {
		parity = j.specs(ctx, "parity", rulesOf["parity"])
	}
	return errors.Join(parity, j.up(ctx, "hardened"))
}

// renewals tests two renewals of every certificate. Each renewal breaks the connections to the API
// server (docs/operations.md), so no other job uses the cluster.
func renewals(ctx context.Context, j *job) (err error) {
	defer func() { err = errors.Join(err, j.down(ctx)) }()
	err = j.up(ctx, "hardened", "--fresh", "--install-flag=--cert-validity=10m", "--install-flag=--cert-renew-before=7m")
	if err != nil {
		return err
	}
	j.unblock()
	return j.specs(ctx, "hardened", certificates)
}

// others tests profile in-tree, and a part of hardened, because the job hardened takes longest.
func others(ctx context.Context, j *job) (err error) {
	defer func() { err = errors.Join(err, j.down(ctx)) }()
	inTree := j.up(ctx, "in-tree", "--fresh")
	if inTree == nil {
		inTree = errors.Join(dryRun(ctx, j), j.specs(ctx, "in-tree", rulesOf["in-tree"]))
	}
	hardened := j.up(ctx, "hardened")
	j.unblock()
	if hardened == nil {
		hardened = j.specs(ctx, "hardened", disruptiveThere...)
	}
	return errors.Join(inTree, hardened)
}

// haCluster is the name of the cluster of `make ha`.
const haCluster = refcluster.DefaultName + "-ha"

// manyHosts tests the installation on three control planes.
func manyHosts(s selection) func(context.Context, *job) error {
	return func(ctx context.Context, j *job) (err error) {
		defer func() { err = errors.Join(err, j.down(ctx)) }()
		if err := j.up(ctx, "hardened", "--plain", "--fresh", "--control-planes=3", "--workers=2"); err != nil {
			return err
		}
		return j.specs(ctx, "hardened", s)
	}
}

// highAvailability runs the specs for several control planes that match the label, or all, also the long
// ones.
func highAvailability(ctx context.Context, j *job, label string) error {
	selected := hostsLong
	selected.label = label
	if err := errors.Join(j.prepare(ctx), j.compileSuites(ctx)); err != nil {
		return err
	}
	return j.parallel(ctx, &job{name: "hosts", cluster: haCluster, do: manyHosts(selected)})
}

func dryRun(ctx context.Context, j *job) error {
	return j.part(ctx, "manifests against the API server", func(r *result) error {
		if err := j.run(j.command(ctx, "env", "KUBECONFIG="+j.kubeconfig(), "scripts/verify.sh", "dry-run")); err != nil {
			return err
		}
		r.passed++
		return nil
	})
}
