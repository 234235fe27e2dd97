// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func upCommand() *cobra.Command {
	var (
		want wanted
		off  []string
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Create the cluster, or switch it to this profile",
		Long: `Up creates a cluster of two nodes, or of more, and installs Bulkhead in it. Run it
again to continue after an interruption, or with another profile to switch.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("node-scope") {
				want.nodeScope = want.profile == "hardened"
			}
			hardening, err := chooseHardening(want.plain, cmd.Flags().Changed("hardening-off"), off)
			if err != nil {
				return err
			}
			want.hardening = hardening
			return up(cmd.Context(), want)
		},
	}
	cmd.Flags().StringVar(&want.name, "name", refcluster.DefaultName,
		"the cluster's name: "+refcluster.DefaultName+" or "+refcluster.DefaultName+"-…")
	cmd.Flags().StringVar(&want.profile, "profile", "hardened",
		"hardened (Bulkhead and in-tree), parity (Bulkhead alone) or in-tree (no Bulkhead)")
	cmd.Flags().StringVar(&want.nodeImage, "node-image", "auto",
		"auto (pull kind's image, else build from source), pull, build, or the name of an image")
	cmd.Flags().StringVar(&want.kubernetes, "kubernetes", nodeimage.KubernetesVersion,
		"the version of Kubernetes, for example v1.36.3 or 1.36.x; another one than the default is built from source")
	cmd.Flags().BoolVar(&want.kubeletAPI, "kubelet-api", true,
		"in hardened: put every kubelet behind kubelet-auth-proxy; the other profiles never do")
	cmd.Flags().BoolVar(&want.nodeScope, "node-scope", false,
		"limit the tokens of annotated ServiceAccounts to their pods' nodes, also kube-proxy's (default in hardened: true)")
	cmd.Flags().BoolVar(&want.fresh, "fresh", false,
		"create a new cluster instead of using the one that exists")
	cmd.Flags().IntVar(&want.size.ControlPlanes, "control-planes", refcluster.DefaultSize.ControlPlanes,
		"the number of control-plane nodes; with more than one, a load balancer is in front of them")
	cmd.Flags().IntVar(&want.size.Workers, "workers", refcluster.DefaultSize.Workers, "the number of worker nodes")
	cmd.Flags().BoolVar(&want.plain, "plain", false,
		"create only the cluster, with the program bulkhead and the component image on its nodes, and install nothing")
	cmd.Flags().StringSliceVar(&off, "hardening-off", nil,
		"settings of manifests/hardening that the cluster is created without: all, or some of "+
			strings.Join(refcluster.AllHardening(), ", ")+" (default with --plain: all but audit)")
	cmd.Flags().StringArrayVar(&want.extra, "install-flag", nil,
		"a further flag for `bulkhead install`, for example --cert-validity=10m")
	return cmd
}

// wanted is the wanted state of the cluster.
type wanted struct {
	name       string
	profile    string
	size       refcluster.Size
	hardening  refcluster.Hardening
	kubeletAPI bool
	nodeScope  bool
	// fresh removes an existing cluster before the new one is created.
	fresh bool
	// plain installs nothing.
	plain bool
	// nodeImage and kubernetes say what the nodes run.
	nodeImage, kubernetes string
	// extra are additional flags of the installer.
	extra []string
}

// flags returns the flags of the installer, with first in front.
func (w wanted) flags(first string) []string {
	flags := []string{first}
	if w.profile != "in-tree" {
		// Without the flag, the mode of the last installation would stay.
		flags = append(flags, "--mode=enforce", fmt.Sprintf("--node-scope=%t", w.nodeScope))
	}
	return append(flags, w.extra...)
}

// chooseHardening returns the settings that the cluster is created with. A plain cluster has only the
// audit log, unless the user says which settings are off: documentation and suites begin there with
// what kubeadm makes.
func chooseHardening(plain, chosen bool, off []string) (refcluster.Hardening, error) {
	if plain && !chosen {
		return refcluster.PlainHardening(), nil
	}
	return refcluster.AllHardening().Without(off)
}

// limitsKubeProxy is true if node scope is installed.
func (w wanted) limitsKubeProxy() bool { return w.nodeScope && w.profile != "in-tree" }

func up(ctx context.Context, want wanted) error {
	release, err := nodeimage.FindRelease(want.kubernetes)
	if err := errors.Join(refcluster.CheckName(want.name), refcluster.CheckProfile(want.profile), want.size.Check(),
		err); err != nil {
		return err
	}
	w, err := openWorkspaceOf(want.name)
	if err != nil {
		return err
	}
	w.workshop.Release = release
	unlock, err := refcluster.Lock(ctx, w.progress)
	if err != nil {
		return err
	}
	defer unlock()
	engine, err := w.engine(ctx)
	if err != nil {
		return err
	}
	others, err := engine.OtherNodes(ctx, io.Discard, want.name)
	if err != nil {
		return err
	}
	if err := host.CheckPrerequisites(engine, host.Needs{Nodes: want.size.Nodes() + others}); err != nil {
		return err
	}
	image, err := w.build(ctx, engine, imageChoice{name: want.nodeImage, release: release})
	if err != nil {
		return err
	}
	cluster, err := w.cluster(engine, want.name)
	if err != nil {
		return err
	}
	cluster.Size, cluster.Hardening = want.size, want.hardening
	if err := bringUp(ctx, cluster, want, image); err != nil || want.plain {
		return err
	}
	w.welcome(ctx, cluster, want)
	return nil
}

// build gets the node image and builds the tools. If the image is compiled here, the tools are compiled
// after it, while the image is put together: most of their packages are then in Go's build cache.
func (w *workspace) build(ctx context.Context, engine host.Engine, choice imageChoice) (string, error) {
	tools := sync.OnceValue(func() *progress.Background { return w.workshop.BeginTools(ctx) })
	choice.compiled = func() { tools() }
	image, err := w.nodeImage(ctx, engine, choice)
	// They start here if the image was not compiled.
	defer tools().Stop()
	if err != nil {
		return "", err
	}
	return image, w.workshop.AwaitTools(ctx, tools())
}

func bringUp(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	building := cluster.BuildComponents(ctx)
	defer building.Stop()
	if err := cluster.Ensure(ctx, image, !want.fresh); err != nil {
		return err
	}
	if err := cluster.EnsureNetwork(ctx); err != nil {
		return err
	}
	component, err := cluster.LoadComponents(ctx, building)
	if err != nil {
		return err
	}
	if err := cluster.WaitReady(ctx); err != nil {
		return err
	}
	if want.plain {
		return preparePlain(ctx, cluster)
	}
	if err := installScoped(ctx, cluster, want, component); err != nil {
		return err
	}
	if err := cluster.Harden(ctx); err != nil {
		return err
	}
	cluster.PruneComponents(ctx, component)
	return cluster.WaitInstalled(ctx)
}

// preparePlain makes the nodes as an administrator does before an installation: they have the program
// bulkhead and the component image.
func preparePlain(ctx context.Context, cluster *refcluster.Cluster) error {
	if err := cluster.Harden(ctx); err != nil {
		return err
	}
	return cluster.PutInstallers(ctx)
}

func (w *workspace) welcome(ctx context.Context, cluster *refcluster.Cluster, want wanted) {
	w.progress.Logf("\nThe cluster is up, profile %s, after %s.", want.profile, w.progress.Elapsed())
	w.progress.Logf("kubeconfig: %s\n", cluster.Kubeconfig())
	if status, err := cluster.InstalledStatus(ctx); err == nil {
		w.progress.Logf("%s\n", status)
	}
	fmt.Printf("Try it (first: %s):\n", envOf(want.name))
	as := "--as=system:node:" + cluster.Worker() + " --as-group=system:nodes"
	fmt.Printf("  kubectl get node %s %s\n", cluster.Worker(), as)
	fmt.Printf("  kubectl get node %s %s\n", cluster.ControlPlane(), as)
	fmt.Println("  bulkhead rules")
	fmt.Println("The first is allowed, the second is denied: by a rule of Bulkhead in hardened and parity.")
}
