// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// parse returns the configuration with which the program would run.
func parse(args ...string) (*config, error) { return programtest.Parse(newCommand, args...) }

// The Deployment runs this program, with flags that exist. No flags at all give the same configuration.
func TestDeploymentStartsTheProgram(t *testing.T) {
	data, err := manifests.FS.ReadFile("machine-table/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(data, &deployment); err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Command[0] != "/machine-table-controller" {
		t.Errorf("the Deployment runs %s", container.Command[0])
	}
	for _, args := range [][]string{container.Command[1:], nil} {
		got, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		if want := container.VolumeMounts[0].MountPath + "/configuration.yaml"; got.configuration != want ||
			got.healthPort != container.LivenessProbe.HTTPGet.Port.IntValue() || got.kubeconfig != "" {
			t.Errorf("%v: configuration %+v, want %s", args, got, want)
		}
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, tc := range []struct{ flags, want string }{
		{"--configuration=", "--configuration is empty"},
		{"--bind-address=0.0.0.0", "want a loopback address"},
		{"--health-port=0", "--health-port is 0, want 1 to 65535"},
		{"--shutdown-timeout=0s", "--shutdown-timeout is 0s"},
		{"--logging-format=xml", "logging: "},
		{"--configuration= --health-port=70000", "--configuration is empty\n--health-port is 70000"},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			if _, err := parse(strings.Fields(tc.flags)...); err == nil || !strings.Contains(err.Error(), tc.want) {
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
	for _, want := range []string{"labels and taints", "--kubeconfig", "--configuration", "Serving flags"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}
