// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// TakeMachine waits until no other suite of this checkout has the machine, and has it until
// the spec is over, or the container of the BeforeAll that calls. It is for specs that take
// the machine from others, or measure what others would spoil: those of clusters beside
// each other take turns. It comes first in such a spec, before anything is made or broken,
// and not twice: who has the machine would wait for itself.
func TakeMachine(ctx context.Context) {
	ginkgo.GinkgoHelper()
	file, err := machineLock()
	if err != nil {
		// Who has nowhere to keep a lock has no suites beside each other.
		ginkgo.GinkgoWriter.Printf("taking no turns with other suites: %v\n", err)
		return
	}
	release, err := progress.Lock(ctx, file, func() { ginkgo.By("waiting for the heavy specs of other suites") })
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "waiting for the heavy specs of other suites")
	ginkgo.DeferCleanup(release)
}

// machineLock is the file of the lock. It is the same for all suites of a checkout, and
// its directory is there.
func machineLock() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(root, "_output")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("making a directory for the lock: %w", err)
	}
	file := filepath.Join(directory, progress.MachineLock)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("making the lock: %w", err)
	}
	return file, f.Close()
}
