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

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// tool is a program that is built from a pinned module into _output/bin. Its name is the last
// element of the package path.
type tool struct {
	name, pkg string
	// component is true if the component image contains the program.
	component bool
}

var tools = []tool{
	{name: "bulkhead", pkg: "./components/cmd/bulkhead", component: true},
	{name: "certificate-rotator", pkg: "./components/cmd/certificate-rotator", component: true},
	{name: "kubelet-auth-proxy", pkg: "./components/cmd/kubelet-auth-proxy", component: true},
	{name: "kubelet-csr-approver", pkg: "./components/cmd/kubelet-csr-approver", component: true},
	{name: "machine-table-controller", pkg: "./components/cmd/machine-table-controller", component: true},
	{name: "node-authorizer", pkg: "./components/cmd/node-authorizer", component: true},
	{name: "node-restriction", pkg: "./components/cmd/node-restriction", component: true},
	{name: "scope-sync", pkg: "./components/cmd/scope-sync", component: true},
	{name: "kind", pkg: "sigs.k8s.io/kind"},
	{name: "ginkgo", pkg: "github.com/onsi/ginkgo/v2/ginkgo"},
}

// kubectl has the version of the cluster. The node image's module of that version pins it.
const kubectl = "k8s.io/kubernetes/cmd/kubectl"

// Workshop builds programs in a checkout. The zero value is not usable.
type Workshop struct {
	Root, Output string
	Progress     *progress.Reporter
	// Engine is the platform of the nodes. The zero value is this process's platform.
	Engine host.Platform
	// Release is the version of Kubernetes, for kubectl.
	Release nodeimage.Release
}

// bin is the folder of the programs that run here.
func (w Workshop) bin() string { return filepath.Join(w.Output, "bin") }

// nodeBin is the folder of the programs that run in the nodes. On macOS, and on a machine with another
// architecture than the engine, it is not the folder of the programs that run here.
func nodeBin(output string, here, engine host.Platform) string {
	bin := filepath.Join(output, "bin")
	if engine == here || engine == (host.Platform{}) {
		return bin
	}
	return filepath.Join(bin, engine.OS+"-"+engine.Arch)
}

// BuildTools builds all programs in _output/bin. Go's build cache makes a second run quick.
func (w Workshop) BuildTools(ctx context.Context) error {
	tools := w.BeginTools(ctx)
	defer tools.Stop()
	return w.AwaitTools(ctx, tools)
}

// BeginTools starts to build all programs in _output/bin. [Workshop.AwaitTools] waits for it.
func (w Workshop) BeginTools(ctx context.Context) *progress.Background {
	return progress.Begin(ctx, w.buildTools)
}

// AwaitTools waits for the tools, as a step.
func (w Workshop) AwaitTools(ctx context.Context, tools *progress.Background) error {
	return w.Progress.Step(ctx, "building the tools in _output/bin", func(_ context.Context, log io.Writer) error {
		return tools.Wait(log)
	})
}

func (w Workshop) buildTools(ctx context.Context, log io.Writer) error {
	if err := os.MkdirAll(w.bin(), 0o755); err != nil {
		return err
	}
	// Build them together, because most of them link the same packages.
	var all, components []string
	for _, tool := range tools {
		all = append(all, tool.pkg)
		if tool.component {
			components = append(components, tool.pkg)
		}
	}
	here, flags := host.Here(), w.versionFlags(ctx, log)
	if err := w.build(ctx, log, here, flags, w.Root, w.bin()+separator, all...); err != nil {
		return err
	}
	if err := addPlugin(w.bin()); err != nil {
		return err
	}
	if forNodes := nodeBin(w.Output, here, w.Engine); forNodes != w.bin() {
		if err := os.MkdirAll(forNodes, 0o755); err != nil {
			return err
		}
		if err := w.build(ctx, log, w.Engine, flags, w.Root, forNodes+separator, components...); err != nil {
			return err
		}
	}
	return w.build(ctx, log, here, stripped, w.Release.ModuleDir(w.Root), w.bin()+separator, kubectl)
}

const separator = string(filepath.Separator)

// BuildStatic is a [host.Build]. It builds a static binary from a package of the checkout.
func (w Workshop) BuildStatic(ctx context.Context, log io.Writer, platform host.Platform, pkg, output string) error {
	return w.build(ctx, log, platform, stripped, w.Root, output, pkg)
}

// stripped are the linker flags for a program without debug information.
const stripped = "-s -w"

// versionFlags returns the linker flags that set the version of Bulkhead's programs. Outside of a
// git repository, their version is "dev".
func (w Workshop) versionFlags(ctx context.Context, log io.Writer) string {
	flags, err := progress.Command{Dir: w.Root, Args: []string{"scripts/ldflags.sh"}}.Output(ctx, log)
	if err != nil {
		fmt.Fprintf(log, "the programs have the version \"dev\": %v\n", err)
		return stripped
	}
	return flags
}

func (w Workshop) build(ctx context.Context, log io.Writer, platform host.Platform, ldflags, dir, output string,
	packages ...string) error {
	build := progress.Command{
		Dir: dir,
		Env: append(slices.Concat(platform.Env(), host.CompilerEnv()),
			"CGO_ENABLED=0", "GOWORK=off", host.GoFlags),
		Args: append([]string{"go", "build", "-trimpath", "-ldflags=" + ldflags, "-o", output}, packages...),
	}
	return host.WithHugePages(log, func() error { return build.Run(ctx, log) })
}

// KindModule returns the folder and version of the pinned kind module.
func (w Workshop) KindModule(ctx context.Context, log io.Writer) (dir, version string, err error) {
	out, err := progress.Command{
		Dir: w.Root, Args: []string{"go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "sigs.k8s.io/kind"},
	}.Output(ctx, log)
	if err != nil {
		return "", "", fmt.Errorf("finding the kind module: %w", err)
	}
	dir, version, ok := strings.Cut(out, " ")
	if _, statErr := os.Stat(dir); !ok || statErr != nil {
		return "", "", fmt.Errorf("finding the kind module: go list answered %q", out)
	}
	return dir, version, nil
}
