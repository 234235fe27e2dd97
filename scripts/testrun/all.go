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

// renewals and others are clusters beside the one that a person has. They are there for a
// part of the run.
const (
	renewals = refcluster.DefaultName + "-certificates"
	others   = refcluster.DefaultName + "-others"
)

// everything is verify, unit and the suite in all three profiles of clusters that are ours:
// one that the environment names is not to be switched.
//
// Verify says first what it finds. Then there are lanes, most with a cluster, and what
// becomes of one is nothing to the others.
func everything(ctx context.Context, l *lane) error {
	if err := onlyOurCluster(); err != nil {
		return err
	}
	ready := l.timed("building the tools", func() (count, error) { return count{}, l.works.refcluster(ctx, l.out, "tools") })
	err := errors.Join(ready, l.works.verify(ctx, l))
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
	l.beside(ctx, append(parts, part{name: "unit", busy: true, do: unitInTurn})...)
	return err
}

// clusters are the lanes with a cluster. Two cores are too few for suites beside each other,
// whose specs then fail for what waits in the API server. So lanes are busy one after the
// other, in this order, and what comes after that is nearly all waiting: to watch
// certificates, and to break things on purpose.
func clusters() []part {
	return []part{
		{name: "bulkhead", cluster: refcluster.DefaultName, busy: true, do: func(ctx context.Context, l *lane) error {
			return l.hardened(ctx)
		}},
		{name: "renewals", cluster: renewals, busy: true, do: func(ctx context.Context, l *lane) error {
			return l.removed(ctx, l.certificates(ctx))
		}},
		{name: "others", cluster: others, busy: true, do: func(ctx context.Context, l *lane) error {
			return l.removed(ctx, errors.Join(l.inTree(ctx), l.parity(ctx), l.hardenedToo(ctx)))
		}},
	}
}

// unitInTurn comes last: until then the lanes are busy that take longest in all.
func unitInTurn(ctx context.Context, l *lane) error {
	if err := l.await(ctx, l.turn, "its turn"); err != nil {
		return err
	}
	return l.works.unit(ctx, l)
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
