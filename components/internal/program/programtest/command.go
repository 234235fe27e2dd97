// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package programtest

import (
	"context"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// Parse executes a command with these arguments. It returns the configuration with which the program
// would run. The configuration is nil if the command fails or does something else.
func Parse[C any](newCommand func(run func(context.Context, *C) error) *cobra.Command, args ...string) (*C, error) {
	var got *C
	command := newCommand(func(_ context.Context, c *C) error {
		got = c
		return nil
	})
	// With nil, cobra would use the arguments of the test.
	command.SetArgs(append([]string{}, args...))
	return got, command.Execute()
}

// StaticPod returns the static pod of a manifest, which may have no unknown field.
func StaticPod(t *testing.T, file string) *corev1.Pod {
	t.Helper()
	data, err := manifests.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(data, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}
