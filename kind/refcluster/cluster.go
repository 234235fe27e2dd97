// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/log"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// Cluster is the reference cluster in one engine. Its methods are not safe for
// concurrent use.
type Cluster struct {
	Name     string
	Engine   host.Engine
	Root     string // the checkout
	Output   string // the folder _output, which git ignores
	Progress *progress.Reporter
	// Size is the size of the existing cluster, or the default. Set it before Ensure to create
	// another size.
	Size Size
	// Hardening are the settings that Ensure creates the cluster with.
	Hardening Hardening

	provider *kind.Provider
}

// New returns the cluster in this engine, whether it exists or not. It sets DOCKER_HOST for this
// process, because kind's library runs docker commands.
func New(engine host.Engine, name, root, output string, report *progress.Reporter) (*Cluster, error) {
	if engine.Host != "" {
		if err := os.Setenv("DOCKER_HOST", engine.Host); err != nil {
			return nil, err
		}
	}
	c := &Cluster{
		Name: name, Engine: engine, Root: root, Output: output, Progress: report, Size: DefaultSize,
		Hardening: AllHardening(),
		provider:  kind.NewProvider(providerOf(engine.Client()), kind.ProviderWithLogger(log.NoopLogger{})),
	}
	if size, err := c.existingSize(); err == nil {
		c.Size = size
	}
	return c, nil
}

// providerOf returns kind's provider for the client of an engine.
func providerOf(client string) kind.ProviderOption {
	switch client {
	case "docker":
		return kind.ProviderWithDocker()
	case "podman":
		return kind.ProviderWithPodman()
	}
	return kind.ProviderWithNerdctl(client)
}

// nodeBin is the folder of the programs that run in the nodes.
func (c *Cluster) nodeBin() string { return nodeBin(c.Output, host.Here(), c.Engine.Info.Platform) }

// ControlPlane returns the name of the first control-plane node.
func (c *Cluster) ControlPlane() string { return c.Name + "-control-plane" }

// Worker returns the name of the first worker node.
func (c *Cluster) Worker() string { return c.Name + "-worker" }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return Kubeconfig(c.Output, c.Name) }

// Kubeconfig returns the path of a cluster's kubeconfig in the folder output.
func Kubeconfig(output, name string) string {
	return filepath.Join(output, "kubeconfig"+strings.TrimPrefix(name, DefaultName))
}

// Names returns the kind clusters with a valid name of this project, sorted. [Cluster.CheckOurs]
// checks whether `make up` created one.
func (c *Cluster) Names() ([]string, error) {
	all, err := c.provider.List()
	if err != nil {
		return nil, fmt.Errorf("listing kind clusters: %w", err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return CheckName(name) != nil }), nil
}

// Exists reports whether kind knows the cluster, in any state.
func (c *Cluster) Exists() (bool, error) {
	names, err := c.provider.List()
	if err != nil {
		return false, fmt.Errorf("listing kind clusters: %w", err)
	}
	return slices.Contains(names, c.Name), nil
}

// CheckOurs returns an error if `make up` did not create the kind cluster with this name.
func (c *Cluster) CheckOurs(ctx context.Context) error {
	for _, node := range c.nodes() {
		mounts, err := c.Engine.Docker("inspect", "--format", "{{range .Mounts}}{{println .Destination}}{{end}}",
			node).Output(ctx, io.Discard)
		if err == nil && slices.Contains(strings.Fields(mounts), patchesInside) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("there is a kind cluster named %q that `make up` did not make: remove it (kind delete cluster "+
		"--name %s) or keep it and use another machine", c.Name, c.Name)
}

// Lock prevents two checkouts from changing the machine's cluster at the same time.
func Lock(ctx context.Context, report *progress.Reporter) (unlock func(), err error) {
	return progress.Lock(ctx, filepath.Join(os.TempDir(), "bulkhead-cluster.lock"), func() {
		report.Logf("Another run is changing the cluster: waiting for it.")
	})
}

// Delete removes the nodes and the kubeconfig. It succeeds if there are none.
func (c *Cluster) Delete() error {
	if err := c.provider.Delete(c.Name, c.Kubeconfig()); err != nil {
		return fmt.Errorf("removing the cluster: %w", err)
	}
	c.removeBalancerImage()
	if err := c.removeEncryptionKey(); err != nil {
		return err
	}
	err := os.Remove(c.Kubeconfig())
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// exec runs a command in a node and returns its standard output.
func (c *Cluster) exec(ctx context.Context, log io.Writer, node string, args ...string) (string, error) {
	return c.Engine.Docker(append([]string{"exec", node}, args...)...).Output(ctx, log)
}

// kubectl runs the pinned kubectl as the cluster's administrator.
func (c *Cluster) kubectl(args ...string) progress.Command {
	return progress.Command{Args: append(
		[]string{filepath.Join(c.Output, "bin", "kubectl"), "--kubeconfig", c.Kubeconfig()}, args...)}
}

// poll calls done at intervals until it returns true, the limit passes, or ctx ends.
func poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o644)
}
