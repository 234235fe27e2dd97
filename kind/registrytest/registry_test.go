// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// TestMain makes this program the client docker of a fake engine if it has that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "docker" {
		os.Exit(m.Run())
	}
	fake := client{dir: os.Getenv("FAKE_ENGINE"), arch: os.Getenv("FAKE_ARCHITECTURE")}
	if err := fake.run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func startRegistry(t *testing.T) *nodeRegistry {
	t.Helper()
	r, err := newRegistry()
	t.Cleanup(r.Close)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fakeEngine returns an engine of this architecture, as make up finds it.
func fakeEngine(t *testing.T, arch string) (client, host.Engine) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "docker")); err != nil {
		t.Fatal(err)
	}
	fake := client{dir: t.TempDir(), arch: arch}
	for name, value := range map[string]string{
		"FAKE_ENGINE": fake.dir, "FAKE_ARCHITECTURE": arch, "DOCKER_HOST": "unix:///fake.sock",
		host.ProviderVariable: "docker", "PATH": bin + string(os.PathListSeparator) + os.Getenv("PATH"),
	} {
		t.Setenv(name, value)
	}
	build := func(_ context.Context, _ io.Writer, platform host.Platform, _, output string) error {
		if platform.OS != "linux" || platform.Arch != arch {
			t.Errorf("the probe is compiled for %v", platform)
		}
		return os.WriteFile(output, nil, 0o600)
	}
	engine, err := host.Find(t.Context(), io.Discard, build)
	if err != nil {
		t.Fatal(err)
	}
	if engine.Private {
		t.Fatalf("an engine that works is not used: %+v", engine)
	}
	return fake, engine
}

func TestPullForTheEnginesArchitecture(t *testing.T) {
	for _, arch := range architectures {
		t.Run(arch, func(t *testing.T) {
			registry := startRegistry(t)
			fake, engine := fakeEngine(t, arch)
			for range 2 {
				image, err := nodeimage.Pull(t.Context(), io.Discard, engine, registry.image)
				if err != nil || image != registry.image {
					t.Fatalf("pulled %q, error %v", image, err)
				}
			}
			if digests := fake.lines("digests"); !slices.Equal(digests, []string{registry.digests[arch].String()}) {
				t.Errorf("pulled %q, want %s once", digests, registry.digests[arch])
			}
			is, err := os.ReadFile(filepath.Join(fake.dir, "files", "etc", "architecture"))
			if err != nil || string(is) != arch {
				t.Errorf("the image is for %q, error %v", is, err)
			}
		})
	}
}

// TestKindsNetworkStays checks that make up writes no pod network into nodes of a pulled image.
func TestKindsNetworkStays(t *testing.T) {
	registry := startRegistry(t)
	fake, engine := fakeEngine(t, "amd64")
	if _, err := nodeimage.Pull(t.Context(), io.Discard, engine, registry.image); err != nil {
		t.Fatal(err)
	}
	output := t.TempDir()
	report, err := progress.New(io.Discard, filepath.Join(output, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := refcluster.New(engine, refcluster.DefaultName, output, output, report)
	if err != nil {
		t.Fatal(err)
	}
	before := len(fake.lines("commands"))
	if err := cluster.EnsureNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"exec bulkhead-control-plane test -e /usr/local/bin/bulkhead-entrypoint"}
	if got := fake.lines("commands")[before:]; !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(fake.dir, "files", "kind", "manifests", "default-cni.yaml")); err != nil {
		t.Errorf("the image has no network of kind: %v", err)
	}
}

func TestPullFails(t *testing.T) {
	registry := startRegistry(t)
	fake, engine := fakeEngine(t, "amd64")
	name, _, _ := strings.Cut(registry.image, "@")
	other := name + "@sha256:" + strings.Repeat("0", 64)
	stopped := startRegistry(t)
	stopped.Close()
	for what, image := range map[string]string{"another digest": other, "a registry that is stopped": stopped.image} {
		if got, err := nodeimage.Pull(t.Context(), io.Discard, engine, image); err == nil ||
			!strings.Contains(err.Error(), "cannot pull "+image) {
			t.Errorf("%s: %q, error %v", what, got, err)
		}
	}
	if images := fake.lines("images"); slices.ContainsFunc(images, func(image string) bool {
		return strings.Contains(image, "kindest/node")
	}) {
		t.Errorf("the engine has an image that the registry does not have: %q", images)
	}
}

// TestPullWithTheMachinesEngine does the same with a real engine, if there is one. Any engine can pull
// from loopback without TLS.
func TestPullWithTheMachinesEngine(t *testing.T) {
	engine := host.Engine{}
	arch, err := engine.Docker("version", "--format", "{{.Server.Arch}}").Output(t.Context(), io.Discard)
	if err != nil {
		t.Skipf("no Docker engine answers: %v", err)
	}
	registry := startRegistry(t)
	var log strings.Builder
	image, err := nodeimage.Pull(t.Context(), &log, engine, registry.image)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	t.Cleanup(func() { _ = engine.Docker("image", "rm", image).Run(context.Background(), io.Discard) })
	got, err := engine.Docker("image", "inspect", "--format",
		"{{.Architecture}} {{index .RepoDigests 0}} {{.Config.Entrypoint}}", image).Output(t.Context(), &log)
	name, digest, _ := strings.Cut(registry.image, "@")
	want := arch + " " + strings.TrimSuffix(name, ":v1.37.1") + "@" + digest + " [/usr/local/bin/entrypoint /sbin/init]"
	if err != nil || got != want {
		t.Errorf("image %q, want %q, error %v\n%s", got, want, err, log.String())
	}
}
