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

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
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
