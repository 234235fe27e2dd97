// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// certFlags give the certificates so short a life that the suite lives through
// two renewals of them.
var certFlags = []string{"--install-flag=--cert-validity=10m", "--install-flag=--cert-renew-before=7m"}

// others is a cluster beside the one that a person has. It is there for a part of the run.
const others = refcluster.DefaultName + "-others"

// everything is verify, unit and the suite in all three profiles of clusters that are ours:
// one that the environment names is not to be switched.
//
// Verify and unit take the whole machine, if only for a moment, and say what they find
// whatever becomes of the clusters. Then there are two lanes, each with a cluster.
func everything(ctx context.Context, l *lane) error {
	if err := onlyOurCluster(); err != nil {
		return err
	}
	ready := l.timed("building the tools", func() (count, error) { return count{}, l.works.refcluster(ctx, l.out, "tools") })
	err := errors.Join(ready, l.works.verify(ctx, l), l.works.unit(ctx, l))
	if ready == nil {
		ready = l.compile(ctx)
		err = errors.Join(err, ready)
	}
	if ctx.Err() != nil {
		return err
	}
	parts := []part{{name: "fuzzing", do: fuzzing}}
	if ready == nil {
		parts = append(parts, clusters()...)
	}
	l.beside(ctx, parts...)
	return err
}

// clusters are the lanes with a cluster, in the order in which these are made. To watch
// certificates is nearly all waiting, so the other two profiles have their turn meanwhile. All
// that hardened has comes when they are done: two cores are too few for suites beside each
// other, whose specs then fail for what waits in the API server.
func clusters() []part {
	// Who reads the run compares the last crawl with the number that the first has found.
	rest := newMilestone()
	return []part{
		{name: "bulkhead", cluster: refcluster.DefaultName, do: func(ctx context.Context, l *lane) error {
			return errors.Join(l.certificates(ctx), l.hardened(ctx, rest))
		}},
		{name: "others", cluster: others, do: func(ctx context.Context, l *lane) error {
			defer rest.pass()
			return l.removed(ctx, errors.Join(l.inTree(ctx), l.parity(ctx)))
		}},
	}
}

// fuzzing computes where the others wait.
func fuzzing(ctx context.Context, l *lane) error {
	return l.timed(fuzzed, func() (count, error) { return l.works.fuzz(ctx, l.out) })
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
