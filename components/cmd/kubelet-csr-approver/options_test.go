// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// parse returns the configuration with which the program would run.
func parse(args ...string) (*config, error) { return programtest.Parse(newCommand, args...) }

// The manifest of the static pod runs this program, with flags that exist. No flags at all give the
// same configuration.
func TestStaticPodStartsTheProgram(t *testing.T) {
	pod := programtest.StaticPod(t, manifests.KubeletApproverStaticPod)
	container := pod.Spec.Containers[0]
	if container.Command[0] != "/kubelet-csr-approver" {
		t.Errorf("the static pod runs %s", container.Command[0])
	}
	for _, args := range [][]string{container.Command[1:], nil} {
		got, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		if want := container.VolumeMounts[0].MountPath + "/kubeconfig"; got.kubeconfig != want {
			t.Errorf("%v: kubeconfig %s, want %s", args, got.kubeconfig, want)
		}
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, tc := range []struct{ flag, want string }{
		{"--kubeconfig=", "--kubeconfig is empty"},
		{"--logging-format=xml", "logging: "},
		{"approve", `unknown command "approve"`},
	} {
		t.Run(tc.flag, func(t *testing.T) {
			if _, err := parse(tc.flag); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	command := newCommand(nil)
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Approves serving certificates", "--kubeconfig", "Cluster flags"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}
