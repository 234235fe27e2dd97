// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// parse returns the configuration with which the program would run.
func parse(args ...string) (*config, error) { return programtest.Parse(newCommand, args...) }

func TestOptions(t *testing.T) {
	got, err := parse("--node-name=cp-1")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got.authorizationFile(),
		got.admissionFile(); a.Path != "/etc/kubernetes/bulkhead/apiserver/authorization.yaml" || a.Hash != nil ||
		b.Path != "/etc/kubernetes/bulkhead/apiserver/static/node-scope.yaml" || b.Hash == nil || a.Kind == b.Kind {
		t.Errorf("the files are %+v and %+v", a, b)
	}
	for _, tc := range []struct{ flag, wrong string }{
		{"--node-name=", `--node-name is ""`},
		{"--node-name=a/b", `--node-name is "a/b"`},
		{"--kubeconfig=", "--kubeconfig is empty"},
		{"--authorization-config=a.yaml", "want an absolute path"},
		{"--admission-manifest=/etc/x.yml", "want a name that ends in .yaml"},
		{"--admission-manifest=/etc/kubernetes/bulkhead/apiserver/x.yaml", "in the same directory"},
		{"--heartbeat-file=", "--heartbeat-file is"},
		{"--logging-format=xml", "logging"},
		{"--node-authorizer-health=https://127.0.0.1:1", "--node-authorizer-health: "},
		{"--node-restriction-health=http://10.0.0.1:1", "--node-restriction-health: "},
	} {
		if _, err := parse("--node-name=cp-1", tc.flag); err == nil || !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: got %v, want %q", tc.flag, err, tc.wrong)
		}
	}
}

// The program accepts the command line of the static pod's manifest.
func TestTheManifestsCommand(t *testing.T) {
	pod := programtest.StaticPod(t, manifests.ScopeSyncStaticPod)
	container := pod.Spec.Containers[0]
	if got, err := parse(container.Command[1:]...); err != nil || got.heartbeat != defaultHeartbeat {
		t.Errorf("%+v, %v", got, err)
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		if _, err := parse(probe.Exec.Command[1:]...); err == nil ||
			!strings.Contains(err.Error(), "reading the heartbeat") {
			t.Errorf("%v: %v", probe.Exec.Command, err)
		}
	}
}

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heartbeat")
	if err := scopesync.WriteHeartbeat(path, "no cluster"); err != nil {
		t.Fatal(err)
	}
	if _, err := parse("check", "--heartbeat-file="+path); err != nil {
		t.Error(err)
	}
	if _, err := parse("check", "--heartbeat-file="+path, "--ready"); err == nil ||
		!strings.Contains(err.Error(), "not ready: no cluster") {
		t.Errorf("got %v", err)
	}
}

func TestHelp(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"--help"}, []string{"Updates the list of ServiceAccounts", "--admission-manifest", "Cluster flags"}},
		{[]string{"check", "--help"}, []string{"Checks the scope-sync", "--max-age"}},
	} {
		var out strings.Builder
		command := newCommand(nil)
		command.SetOut(&out)
		command.SetArgs(tc.args)
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v does not say %q:\n%s", tc.args, want, out.String())
			}
		}
	}
}
