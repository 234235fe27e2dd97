// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// waitNewServer waits until a new API server process serves with the wanted files and Bulkhead's
// components decide. It calls files at each check, because they can change.
func (in *Installer) waitNewServer(ctx context.Context, timeout time.Duration, before cluster.Process,
	files func() (cluster.Process, error)) error {
	return in.Until(ctx, timeout, "kube-apiserver with Bulkhead's components", func(ctx context.Context) error {
		process, err := in.serving(ctx)
		if err != nil {
			return err
		}
		if process.Start == before.Start {
			return errors.New("the kubelet has not restarted it yet")
		}
		want, err := files()
		if err != nil {
			return err
		}
		if err := runsWith(process, want); err != nil {
			return err
		}
		return errors.Join(in.oursDecides(ctx), in.nodeCanWrite(ctx))
	})
}

// runsWith compares the files that a server has read with the wanted files.
func runsWith(process, want cluster.Process) error {
	switch {
	case process.AuthorizationHash != want.AuthorizationHash:
		return fmt.Errorf("it runs with the authorization file %q, not %q", process.AuthorizationHash, want.AuthorizationHash)
	case process.AdmissionHash != want.AdmissionHash:
		return fmt.Errorf("it runs with the webhooks from disk %q, not %q", process.AdmissionHash, want.AdmissionHash)
	case process.PolicyHash != want.PolicyHash:
		return fmt.Errorf("it runs with the admission policies from disk %q, not %q", process.PolicyHash, want.PolicyHash)
	}
	return nil
}

// waitOldServer waits until an API server that right accepts has served for a while. It does not
// require a new process: the kubelet may never have seen the change that was rolled back.
func (in *Installer) waitOldServer(ctx context.Context, timeout time.Duration,
	right func(cluster.Process) error) error {
	var since time.Time
	return in.Until(ctx, timeout, "kube-apiserver as it was", func(ctx context.Context) error {
		process, err := in.serving(ctx)
		if err == nil {
			err = right(process)
		}
		if err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = in.Now()
		}
		if steady := in.Now().Sub(since); steady < in.Settle {
			return fmt.Errorf("it has been back for %s only", steady.Round(time.Second))
		}
		return nil
	})
}

// described returns a function that checks whether a server runs with the current manifest. It
// compares the hashes of the server's files.
func (in *Installer) described() (right func(cluster.Process) error, err error) {
	data, err := os.ReadFile(in.Layout.APIServerManifest())
	if err != nil {
		return nil, err
	}
	manifest, err := apiserver.Parse(data)
	if err != nil {
		return nil, err
	}
	authorization := expectation{wired: manifest.Wired(in.Layout.AuthorizationConfig()),
		is: has(manifest, "authorization-config")}
	admission := expectation{wired: manifest.AdmissionWired(in.Layout.AdmissionConfig()),
		is: has(manifest, "admission-control-config-file"), mayBeNone: true}
	return func(p cluster.Process) error {
		config, exists, err := atomicfile.Read(in.Layout.AuthorizationConfig())
		if err != nil {
			return err
		}
		if authorization.ours = ""; exists {
			authorization.ours = journal.Hash(config.Data)
		}
		if admission.ours, err = in.staticHash(in.Layout.StaticManifests()); err != nil {
			return err
		}
		if !authorization.met(p.AuthorizationHash) {
			return fmt.Errorf("it still runs with the authorization file %q", p.AuthorizationHash)
		}
		if !admission.met(p.AdmissionHash) {
			return fmt.Errorf("it still runs with the webhooks from disk %q", p.AdmissionHash)
		}
		return nil
	}, nil
}

// staticHash returns the hash by which kube-apiserver identifies what it reads from a directory, that
// of the webhooks or that of the policies. It is empty if the server is not configured to read it.
func (in *Installer) staticHash(directory string) (string, error) {
	config, _, err := atomicfile.Read(in.Layout.AdmissionConfig())
	if err != nil || !strings.Contains(string(config.Data), directory) {
		return "", err
	}
	return apiserver.ManifestsHash(directory)
}

// expectation is what a manifest implies about a hash: the hash of Bulkhead's file, no hash, or the
// hash of another file. Another file may have a different path in the container.
type expectation struct {
	ours      string
	wired, is bool
	// mayBeNone is true if the other file may have no hash.
	mayBeNone bool
}

func (e expectation) met(hash string) bool {
	switch {
	case e.wired:
		return hash == e.ours
	case e.is:
		return hash != e.ours || hash == "" && e.mayBeNone
	}
	return hash == ""
}

func has(manifest *apiserver.Manifest, flag string) bool {
	_, set := manifest.Arg(flag)
	return set
}

// serving returns the state of the API server, if it is ready.
func (in *Installer) serving(ctx context.Context) (cluster.Process, error) {
	if err := in.Server.Ready(ctx); err != nil {
		return cluster.Process{}, fmt.Errorf("/readyz: %w", err)
	}
	return in.Server.Process(ctx)
}

// oursDecides asks the API server about a node and looks for a rule ID of node-authorizer in the
// answer.
func (in *Installer) oursDecides(ctx context.Context) error {
	decision, err := in.Server.CanaryDecision(ctx)
	if err != nil {
		return fmt.Errorf("asking it about a node: %w", err)
	}
	if !strings.Contains(decision.Reason, "[NA-") || strings.Contains(decision.Reason, "[NA-UNREADY]") {
		return fmt.Errorf("the node authorizer does not decide: its chain answers %q %s", decision.Reason,
			decision.EvaluationError)
	}
	return nil
}

// nodeCanWrite writes the status of this host's node as its kubelet does, with dry run. It fails if
// node-restriction cannot be called, or if it denies the request. With failure policy Ignore,
// kube-apiserver admits the write if it cannot call node-restriction. Only its metrics show that.
func (in *Installer) nodeCanWrite(ctx context.Context) error {
	before, err := in.Server.Process(ctx)
	if err != nil {
		return err
	}
	if err := in.Server.ReportStatus(ctx, in.Layout.NodeName()); err != nil {
		return fmt.Errorf("this host's node can no longer report its status: %w", err)
	}
	after, err := in.Server.Process(ctx)
	if err == nil && after.Skipped != before.Skipped {
		err = errors.New("kube-apiserver cannot call node-restriction: it has admitted a write of a node without it. See " +
			"the log of kube-apiserver for the cause")
	}
	return err
}

// waitComponent waits until a new process of a component is ready.
func (in *Installer) waitComponent(ctx context.Context, c Component, what string, timeout time.Duration,
	before string) error {
	err := in.Until(ctx, timeout, what, func(ctx context.Context) error {
		if err := c.Ready(ctx); err != nil {
			return err
		}
		start, err := c.Start(ctx)
		if err == nil && start == before {
			err = errors.New("the kubelet has not restarted it yet")
		}
		return err
	})
	if err == nil {
		return nil
	}
	if log := c.Tail(); log != "" {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	return fmt.Errorf("%w\nit has printed nothing: its container may not have started, see `journalctl -u kubelet` or "+
		"`crictl ps -a` on this host (is the image there?)", err)
}
