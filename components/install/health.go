// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/hostfs"
)

// waitNewServer waits until another API server process than before serves, with
// the authorization file that we wrote, and lets the node authorizer decide.
func (in *Installer) waitNewServer(ctx context.Context, timeout time.Duration, before cluster.Process, configHash string) error {
	return in.until(ctx, timeout, "kube-apiserver with the new authorizers", func(ctx context.Context) error {
		process, err := in.serving(ctx)
		if err != nil {
			return err
		}
		if process.Start == before.Start {
			return errors.New("the kubelet has not restarted it yet")
		}
		if process.AuthorizationHash != configHash {
			return fmt.Errorf("it runs with the authorization file %q, not %q", process.AuthorizationHash, configHash)
		}
		return in.oursDecides(ctx)
	})
}

// waitOldServer waits until an API server with an authorization file that right
// accepts (empty: none) has been serving for a while. It asks for no new process:
// the kubelet may never have noticed the change that was taken back.
func (in *Installer) waitOldServer(ctx context.Context, timeout time.Duration, right func(configHash string) bool) error {
	var since time.Time
	return in.until(ctx, timeout, "kube-apiserver with the old authorizers", func(ctx context.Context) error {
		process, err := in.serving(ctx)
		if err == nil && !right(process.AuthorizationHash) {
			err = fmt.Errorf("it still runs with the authorization file %q", process.AuthorizationHash)
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

// described tells the API server of the manifest that is there from another one,
// by the hash of the authorization file that it runs with.
func (in *Installer) described() (right func(configHash string) bool, err error) {
	data, err := os.ReadFile(in.Layout.APIServerManifest())
	if err != nil {
		return nil, err
	}
	manifest, err := apiserver.Parse(data)
	if err != nil {
		return nil, err
	}
	ours := ""
	config, exists, err := hostfs.Read(in.Layout.AuthorizationConfig())
	if exists {
		ours = hash(config.Data)
	}
	_, any := manifest.Arg("authorization-config")
	switch {
	case manifest.Wired(in.Layout.AuthorizationConfig()):
		return func(h string) bool { return h == ours }, err
	case any:
		// Somebody else's file, which may have another path in the container.
		return func(h string) bool { return h != ours }, err
	}
	return func(h string) bool { return h == "" }, err
}

// serving returns what the API server says about itself, once it is ready.
func (in *Installer) serving(ctx context.Context) (cluster.Process, error) {
	if err := in.API.Ready(ctx); err != nil {
		return cluster.Process{}, fmt.Errorf("/readyz: %w", err)
	}
	return in.API.Process(ctx)
}

// oursDecides asks the API server about a node and looks for our ID in the answer.
func (in *Installer) oursDecides(ctx context.Context) error {
	decision, err := in.API.CanaryDecision(ctx)
	if err != nil {
		return fmt.Errorf("asking it about a node: %w", err)
	}
	if !strings.Contains(decision.Reason, "[NA-") || strings.Contains(decision.Reason, "[NA-UNREADY]") {
		return fmt.Errorf("the node authorizer does not decide: its chain answers %q %s", decision.Reason, decision.EvaluationError)
	}
	return nil
}

// waitComponent waits until another node authorizer process than before is ready.
func (in *Installer) waitComponent(ctx context.Context, timeout time.Duration, before string) error {
	err := in.until(ctx, timeout, "the node authorizer", func(ctx context.Context) error {
		if err := in.Component.Ready(ctx); err != nil {
			return err
		}
		start, err := in.Component.Start(ctx)
		if err == nil && start == before {
			err = errors.New("the kubelet has not restarted it yet")
		}
		return err
	})
	if err == nil {
		return nil
	}
	if log := in.Component.Tail(); log != "" {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	return fmt.Errorf("%w\nit has printed nothing: its container may not have started, see `journalctl -u kubelet` or `crictl ps -a` on this host (is the image there?)", err)
}
