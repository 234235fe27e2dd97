// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// yield is the pause after the release of the lock. A waiter tries once a second. Without the pause, a
// suite whose every spec takes the lock would have it again before a waiter of another suite tries.
const yield = 1500 * time.Millisecond

// TakeMachine waits for a lock on the machine and holds it until the end of the spec, or of the
// container whose BeforeAll calls this. All suites of a checkout share the lock. It is for specs
// that need the whole machine, or that measure what other suites would disturb. Call it first in
// such a spec, before the spec makes or breaks anything. Do not call it twice: the second call
// would wait for the first one. A spec that calls this in its It needs [SlowSpec], because the time of
// the wait counts.
func TakeMachine(ctx context.Context) {
	ginkgo.GinkgoHelper()
	file, err := machineLock()
	if err != nil {
		// Without a directory for a lock, no other suites run beside this one.
		ginkgo.GinkgoWriter.Printf("taking no turns with other suites: %v\n", err)
		return
	}
	release, err := progress.Lock(ctx, file, func() { ginkgo.By("waiting for the heavy specs of other suites") })
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "waiting for the heavy specs of other suites")
	ginkgo.DeferCleanup(func() {
		release()
		time.Sleep(yield)
	})
}

// machineLock opens the file of the lock, which all suites of a checkout share, and creates its
// directory.
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
