// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	{name: "node-authorizer", pkg: "./components/cmd/node-authorizer", component: true},
	{name: "node-restriction", pkg: "./components/cmd/node-restriction", component: true},
	{name: "scope-sync", pkg: "./components/cmd/scope-sync", component: true},
	{name: "kind", pkg: "sigs.k8s.io/kind"},
	{name: "ginkgo", pkg: "github.com/onsi/ginkgo/v2/ginkgo"},
}

// kubectl has the version of the cluster. The module of the node image pins it.
const kubectl = "k8s.io/kubernetes/cmd/kubectl"

// Workshop builds programs in a checkout. The zero value is not usable.
type Workshop struct {
	Root, Output string
	Progress     *progress.Reporter
}

// BuildTools builds all programs in _output/bin. Go's build cache makes a second run quick.
func (w Workshop) BuildTools(ctx context.Context) error {
	return w.Progress.Step(ctx, "building the tools in _output/bin", func(ctx context.Context, log io.Writer) error {
		if err := os.MkdirAll(filepath.Join(w.Output, "bin"), 0o755); err != nil {
			return err
		}
		// Build them together, because most of them link the same packages.
		var packages []string
		for _, tool := range tools {
			packages = append(packages, tool.pkg)
		}
		bin := filepath.Join(w.Output, "bin") + string(filepath.Separator)
		if err := w.build(ctx, log, w.versionFlags(ctx, log), w.Root, bin, packages...); err != nil {
			return err
		}
		return w.build(ctx, log, stripped, filepath.Join(w.Root, "kind", "node-image", "kubernetes"), bin, kubectl)
	})
}

// BuildStatic is a [host.Build]. It builds a static binary from a package of the checkout.
func (w Workshop) BuildStatic(ctx context.Context, log io.Writer, pkg, output string) error {
	return w.build(ctx, log, stripped, w.Root, output, pkg)
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

func (w Workshop) build(ctx context.Context, log io.Writer, ldflags, dir, output string, packages ...string) error {
	return progress.Command{
		Dir:  dir,
		Env:  []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false"},
		Args: append([]string{"go", "build", "-trimpath", "-ldflags=" + ldflags, "-o", output}, packages...),
	}.Run(ctx, log)
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
