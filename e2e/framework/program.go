// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

// RunProgram runs a program of this repository as root on a node, in a pod with the host network.
// The pod stays until the end of the spec, or of the container whose BeforeAll calls this. A node
// cannot build the program, so the suite builds it and copies it to the host.
func (e *Env) RunProgram(ctx context.Context, node, directory string, args ...string) *corev1.Pod {
	ginkgo.GinkgoHelper()
	program, err := buildProgram(ctx, directory)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	path := "/usr/local/bin/" + e.NewName("e2e-"+filepath.Base(directory))
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		_, err := e.Host.Run(ctx, node, "rm -f "+path+" "+path+".new")
		return err
	})
	gomega.Expect(e.Host.Put(ctx, node, path, program)).To(gomega.Succeed())
	return e.Pod(ctx, node, func(pod *corev1.Pod) {
		pod.Spec.HostNetwork = true
		fixtures.Using("program",
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: ptr.To(corev1.HostPathFile)}})(pod)
		fixtures.Using("pki", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: kubeletPKI,
			Type: ptr.To(corev1.HostPathDirectory)}})(pod)
		first := &pod.Spec.Containers[0]
		first.VolumeMounts = []corev1.VolumeMount{{Name: "program", MountPath: path, ReadOnly: true},
			{Name: "pki", MountPath: kubeletPKI, ReadOnly: true}}
		first.Command = append([]string{path}, args...)
		first.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To[int64](0), RunAsNonRoot: ptr.To(false)}
	})
}

// kubeletPKI is the directory with a kubelet's certificates.
const kubeletPKI = "/var/lib/kubelet/pki"

// buildProgram builds a static program that needs only a kernel.
func buildProgram(ctx context.Context, directory string) (program []byte, err error) {
	scratch, err := os.MkdirTemp("", "e2e-program-")
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", directory, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	file := filepath.Join(scratch, "program")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, directory)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w: %s", directory, err, tail(string(out)))
	}
	return os.ReadFile(file)
}
