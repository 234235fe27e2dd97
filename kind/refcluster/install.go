// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Profiles are the values of `make up PROFILE=…`.
var Profiles = []string{"hardened", "parity", "in-tree"}

// CheckProfile returns an error for an invalid profile. The error lists the valid ones.
func CheckProfile(profile string) error {
	if !slices.Contains(Profiles, profile) {
		return fmt.Errorf("there is no profile %q: take one of %q", profile, Profiles)
	}
	return nil
}

// Install runs Bulkhead's installer on every control-plane node, one after the other, as on
// production hosts. The installer does not know kind. extra are additional flags for it. After an
// interrupt, Install interrupts the installer and waits for its rollback.
func (c *Cluster) Install(ctx context.Context, profile, image string, extra ...string) error {
	for _, host := range c.ControlPlanes() {
		if err := c.installOn(ctx, host, profile, image, extra...); err != nil {
			return err
		}
	}
	return nil
}

// InstallNodesOnly prepares the cluster for InstallNodes. One host does that for all.
func (c *Cluster) InstallNodesOnly(ctx context.Context, profile, image string, extra ...string) error {
	return c.installOn(ctx, c.ControlPlane(), profile, image, append([]string{"--nodes-only"}, extra...)...)
}

func (c *Cluster) installOn(ctx context.Context, host, profile, image string, extra ...string) error {
	title := "installing the profile " + profile
	if c.Size.ControlPlanes > 1 {
		title += " on " + host
	}
	return c.Progress.Step(ctx, title, func(ctx context.Context, log io.Writer) error {
		if err := c.putInstaller(ctx, log, host); err != nil {
			return err
		}
		// A checkout of an earlier commit may use the cluster again.
		return c.bulkhead(ctx, log, host,
			append([]string{"install", "--profile=" + profile, "--image=" + image, "--allow-downgrade"}, extra...)...)
	})
}

// InstallNodes runs `bulkhead node install` on the nodes, one after the other.
func (c *Cluster) InstallNodes(ctx context.Context) error {
	return c.onNodes(ctx, c.nodes(), "putting the kubelet behind its proxy on ", "install")
}

// WaitProxies waits until every node runs the proxy that was installed last. A new image reaches
// the nodes one after the other.
func (c *Cluster) WaitProxies(ctx context.Context) error {
	return c.Progress.Step(ctx, "waiting until the proxies of all kubelets are the new ones",
		func(ctx context.Context, log io.Writer) error {
			return c.kubectl("rollout", "status", "daemonset/bulkhead-kubelet-auth-proxy", "--namespace=kube-system",
				"--timeout=2m").Run(ctx, log)
		})
}

// UninstallNodes uninstalls every node that has `bulkhead node install`. guarded is true if there was
// such a node.
func (c *Cluster) UninstallNodes(ctx context.Context) (guarded bool, err error) {
	there := c.guardedNodes(ctx)
	if len(there) == 0 {
		return false, nil
	}
	return true, c.onNodes(ctx, there, "removing kubelet-auth-proxy from ", "uninstall")
}

// guardedNodes returns the nodes with files of `bulkhead node install`, even if they are
// incomplete.
func (c *Cluster) guardedNodes(ctx context.Context) []string {
	var guarded []string
	for _, node := range c.nodes() {
		if _, err := c.exec(ctx, io.Discard, node, "test", "-e", "/etc/kubernetes/bulkhead/node"); err == nil {
			guarded = append(guarded, node)
		}
	}
	return guarded
}

func (c *Cluster) onNodes(ctx context.Context, nodes []string, title, command string) error {
	for _, node := range nodes {
		if err := c.Progress.Step(ctx, title+node, func(ctx context.Context, log io.Writer) error {
			if err := c.putInstaller(ctx, log, node); err != nil {
				return err
			}
			return c.bulkhead(ctx, log, node, "node", command)
		}); err != nil {
			return err
		}
	}
	return nil
}

// bulkhead runs the installer in a node and waits for it, including a rollback.
func (c *Cluster) bulkhead(ctx context.Context, log io.Writer, node string, args ...string) error {
	done := make(chan struct{})
	defer close(done)
	go c.passOnInterrupt(ctx, node, args[0], done)
	err := c.Engine.Docker(append([]string{"exec", node, "bulkhead"}, args...)...).Run(context.WithoutCancel(ctx), log)
	return errors.Join(ctx.Err(), err)
}

// passOnInterrupt interrupts the installer in the node, because docker exec does not.
func (c *Cluster) passOnInterrupt(ctx context.Context, node, command string, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
		c.Progress.Logf("    interrupting the installer: it puts the old state back first")
		_, _ = c.exec(context.WithoutCancel(ctx), io.Discard, node, "pkill", "-INT", "-f", "^bulkhead "+command)
	}
}

// PutInstallers copies the program bulkhead to every node.
func (c *Cluster) PutInstallers(ctx context.Context) error {
	const title = "copying the program bulkhead to the nodes"
	return c.Progress.Step(ctx, title, func(ctx context.Context, log io.Writer) error {
		for _, node := range c.nodes() {
			if err := c.putInstaller(ctx, log, node); err != nil {
				return err
			}
		}
		return nil
	})
}

// putInstaller renames the program into place, because an older one may be running.
func (c *Cluster) putInstaller(ctx context.Context, log io.Writer, node string) error {
	const staged = "/usr/local/bin/.bulkhead-new"
	program := filepath.Join(c.nodeBin(), "bulkhead")
	if err := c.Engine.Docker("cp", program, node+":"+staged).Run(ctx, log); err != nil {
		return err
	}
	_, err := c.exec(ctx, log, node, "mv", staged, "/usr/local/bin/bulkhead")
	return err
}

// InstalledStatus returns the output of `bulkhead status` on the control-plane hosts and of
// `bulkhead node status` on the nodes.
func (c *Cluster) InstalledStatus(ctx context.Context) (string, error) {
	var status string
	for i, host := range c.ControlPlanes() {
		of, err := c.exec(ctx, io.Discard, host, "bulkhead", "status")
		if err != nil {
			return "", err
		}
		if i > 0 {
			status += "\n\n" + host + "\n"
		}
		status += of
	}
	for _, node := range c.guardedNodes(ctx) {
		of, err := c.exec(ctx, io.Discard, node, "bulkhead", "node", "status")
		if err != nil {
			of = "bulkhead is not on this node"
		}
		status += "\n\n" + node + "\n" + of
	}
	return status, nil
}

// WaitInstalled waits until `bulkhead status` and `bulkhead node status` report that every
// component is ready. The kubelet restarts a static pod some seconds after its manifest has
// changed.
func (c *Cluster) WaitInstalled(ctx context.Context) error {
	return c.Progress.Step(ctx, "waiting until every component is ready", func(ctx context.Context, _ io.Writer) error {
		return poll(ctx, 2*time.Minute, func() (bool, error) {
			status, err := c.InstalledStatus(ctx)
			if err != nil {
				return false, err
			}
			unready := unreadyRow.FindAllString(status, -1)
			if len(unready) > 0 {
				return false, errors.New(strings.Join(unready, "; "))
			}
			return true, nil
		})
	})
}

// unreadyRow matches the row that `bulkhead status` prints for a component that is not ready.
var unreadyRow = regexp.MustCompile(`(?m)^\S+ +not ready: .*$`)

// Nodes returns kubectl's table of the nodes.
func (c *Cluster) Nodes(ctx context.Context) (string, error) {
	return c.exec(ctx, io.Discard, c.ControlPlane(), "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "get", "nodes",
		"--request-timeout=10s")
}
