// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
)

// Ensure creates the cluster, or checks the existing one. It creates the cluster again if it is
// incomplete, if it runs another image or has other settings, or if keep is false. If `make up` did
// not create the existing cluster, Ensure does not change it and returns an error.
func (c *Cluster) Ensure(ctx context.Context, image string, keep bool) error {
	exists, err := c.Exists()
	if err != nil {
		return err
	}
	if exists {
		if err := c.CheckOurs(ctx); err != nil {
			return err
		}
		usable := false
		if keep {
			usable, err = c.usable(ctx, image)
		}
		if err != nil {
			return err
		}
		if usable {
			return c.provider.ExportKubeConfig(c.Name, c.Kubeconfig(), false)
		}
		if err := c.Progress.Step(ctx, "removing the cluster that was there", func(context.Context, io.Writer) error {
			return c.Delete()
		}); err != nil {
			return err
		}
	}
	if err := c.prepareForSize(ctx, image); err != nil {
		return err
	}
	title := fmt.Sprintf("creating %d nodes", len(c.nodes()))
	return c.Progress.Step(ctx, title, func(ctx context.Context, log io.Writer) error {
		return c.create(ctx, log, image)
	})
}

func (c *Cluster) create(ctx context.Context, log io.Writer, image string) error {
	config, err := c.prepareConfig(ctx, log)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		done <- c.provider.Create(c.Name, kind.CreateWithV1Alpha4Config(config), kind.CreateWithNodeImage(image),
			kind.CreateWithKubeconfigPath(c.Kubeconfig()), kind.CreateWithWaitForReady(0),
			kind.CreateWithDisplayUsage(false), kind.CreateWithDisplaySalutation(false))
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		// kind's library cannot be interrupted, so remove the nodes while it runs.
		_ = c.Delete()
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	return c.mark(ctx, image)
}

func (c *Cluster) prepareConfig(ctx context.Context, log io.Writer) (*v1alpha4.Cluster, error) {
	patches, err := c.Hardening.kubeadmPatches(os.DirFS(c.hardeningFiles("kubeadm")))
	if err != nil {
		return nil, err
	}
	folders, err := c.hostFolders(ctx, log)
	if err != nil {
		return nil, err
	}
	return clusterConfig(c.Name, c.Size, folders, traitsOf(c.Engine), patches)
}

// marker is a file in the control-plane node. It exists once the cluster is complete. It says what
// the cluster was created from.
const marker = "/kind/bulkhead-created-from"

func (c *Cluster) createdFrom(image string) string {
	return strings.Join(append([]string{image}, c.Hardening...), " ")
}

func (c *Cluster) mark(ctx context.Context, image string) error {
	_, err := c.exec(ctx, io.Discard, c.ControlPlane(), "sh", "-c", "printf %s \"$1\" >"+marker, "sh",
		c.createdFrom(image))
	return err
}

// usable reports whether the cluster is complete and has this image and these settings. It starts a
// stopped node. An error means that the engine does not answer.
func (c *Cluster) usable(ctx context.Context, image string) (bool, error) {
	if size, err := c.existingSize(); err != nil || size != c.Size {
		return false, ctx.Err()
	}
	restarted := false
	for _, node := range c.nodes() {
		state, err := c.Engine.Docker("inspect", "--format", "{{.State.Running}}", node).Output(ctx, io.Discard)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			return false, nil // a node is missing: a run was killed while it created the nodes
		}
		if state == "true" {
			continue
		}
		if err := c.Engine.Docker("start", node).Run(ctx, io.Discard); err != nil {
			return false, ctx.Err()
		}
		restarted = true
	}
	if restarted && !c.servesAgain(ctx) {
		return false, ctx.Err()
	}
	from, err := c.exec(ctx, io.Discard, c.ControlPlane(), "cat", marker)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && from == c.createdFrom(image), nil
}

// servesAgain waits for the API server of nodes that were stopped. If the nodes were killed, or if
// their checkout is gone, the server may never answer. Then a new cluster is quicker than a
// diagnosis.
func (c *Cluster) servesAgain(ctx context.Context) bool {
	return poll(ctx, time.Minute, func() (bool, error) {
		_, err := c.exec(ctx, io.Discard, c.ControlPlane(), "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "get",
			"--raw=/readyz")
		return err == nil, err
	}) == nil
}
