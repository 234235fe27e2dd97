// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// release is a version of Bulkhead for these specs: the program of this checkout, with its own
// version and its own name of the image.
type release struct{ version, program, image string }

// The specs upgrade and downgrade under load. Hosts with both versions serve at the same time. They
// run in order.
var _ = Describe("two versions of Bulkhead on three control planes", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow, long), func() {
		var (
			hosts        []corev1.Node
			older, newer release
			clients      *probers
		)

		BeforeAll(func(ctx SpecContext) {
			hosts = findControlPlanes(ctx)
			expectNotInstalled(ctx, hosts)
			older, newer = putRelease(ctx, hosts, "v0.9.0"), putRelease(ctx, hosts, "v0.10.0")
			DeferCleanup(func(ctx context.Context) {
				for _, host := range hosts {
					onHost(ctx, host.Name, "bulkhead uninstall 2>&1")
				}
				expectNotInstalled(ctx, hosts)
			})
			for _, host := range hosts {
				onHost(ctx, host.Name, older.install())
			}
			clients = startProbers(ctx)
			DeferCleanup(clients.end)
		})

		It("are installed one after the other, and decide alike meanwhile", Denies("NA-NODE-1"), func(ctx SpecContext) {
			for _, host := range hosts {
				onHost(ctx, host.Name, newer.install())
				for i := range hosts {
					expectDecides(ctx, &hosts[i])
				}
			}
		})

		It("refuse a downgrade that nobody asked for", func(ctx SpecContext) {
			out, err := suite.Host.Run(ctx, hosts[1].Name, older.install())
			Expect(err).To(HaveOccurred(), out)
			Expect(err.Error()).To(And(ContainSubstring(newer.version), ContainSubstring("--allow-downgrade")))
			Expect(onHost(ctx, hosts[1].Name, newer.install())).To(ContainSubstring("Nothing had to be changed"))
		})

		It("are downgraded one after the other, and decide alike meanwhile", Denies("NA-NODE-1"), func(ctx SpecContext) {
			for _, host := range hosts {
				onHost(ctx, host.Name, older.install("--allow-downgrade"))
				for i := range hosts {
					expectDecides(ctx, &hosts[i])
				}
			}
		})

		It("had no failed call through the load balancer", func(SpecContext) {
			clients.stop()
			clients.running.Wait()
			clients.expectNoFailure()
		})
	})

// install returns the command that installs this version.
func (r release) install(flags ...string) string {
	command := r.program + " install --profile=hardened --kubelet-api=false --image=" + r.image
	for _, flag := range flags {
		command += " " + flag
	}
	return command + " 2>&1"
}

// putRelease builds the program with a version, and puts it and its image on the hosts.
func putRelease(ctx context.Context, hosts []corev1.Node, version string) release {
	GinkgoHelper()
	program := buildProgram(ctx, "../..", "./components/cmd/bulkhead",
		"-X github.com/bulkhead-k8s/bulkhead/components/internal/version.gitVersion="+version)
	r := release{version: version, program: "/usr/local/bin/bulkhead-" + version,
		image: "ghcr.io/bulkhead-k8s/bulkhead:" + version}
	for _, host := range hosts {
		Expect(suite.Host.Put(ctx, host.Name, r.program, program)).To(Succeed())
		onHost(ctx, host.Name, "ctr --namespace k8s.io images tag --force "+componentImage(ctx, host.Name)+" "+r.image)
		DeferCleanup(func(ctx context.Context) {
			onHost(ctx, host.Name, "rm "+r.program+" && ctr --namespace k8s.io images rm "+r.image)
		})
	}
	return r
}

// buildProgram builds a program for the hosts in the directory of its module, with flags for the
// linker.
func buildProgram(ctx context.Context, directory, pkg, flags string) []byte {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), filepath.Base(pkg))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w "+flags, "-o", file,
		pkg)
	build.Dir = directory
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	out, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	program, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	return program
}
