// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// completed returns what a shell offers after these arguments.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(append([]string{cobra.ShellCompNoDescRequestCmd}, args...))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

func TestCompletionOfValues(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"install", "--profile", "h"}, "hardened"},
		{[]string{"preflight", "--mode", "a"}, "audit"},
		{[]string{"rules", "na-csr"}, "NA-CSR-1"},
		{[]string{"install", "--rule-mode", "NA-CSR"}, "NA-CSR-1="},
		{[]string{"install", "--rule-mode", "NA-CSR-1=audit,NR-PODIP"}, "NA-CSR-1=audit,NR-PODIP-1="},
		{[]string{"install", "--rule-mode", "NA-CSR-1=a"}, "NA-CSR-1=audit"},
		{[]string{"install", "--rule-mode", "NA-CSR-1=d"}, "NA-CSR-1=default"},
		{[]string{"why", "-o", "y"}, "yaml"},
		{[]string{"audit", "--output", "i"}, "installation"},
		{[]string{"status", "-o", ""}, "json"},
		{[]string{"doctor", "--fix="}, "lease"},
		{[]string{"doc"}, "doctor"},
		{[]string{"conformance", "--"}, "--node-exec"},
		{[]string{"conformance", "--suites=attacks", "--output"}, "--output-dir"},
		{[]string{"conformance", "--h"}, "--help"},
		{[]string{"conformance", "--suites", "a"}, "attacks"},
		{[]string{"conformance", "--procs=2", "--suites=attacks,nodes"}, "attacks,nodescope"},
		{[]string{"conformance", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"completion", ""}, "fish"},
		{[]string{"why", "system:n"}, "system:node:"},
		{[]string{"why", "system:node:a", "deletec"}, "deletecollection"},
		{[]string{"why", "system:node:a", "get", "leases"}, "leases.coordination.k8s.io"},
		{[]string{"why", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"doctor", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"audit", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"status", "--cluster", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"revoke", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"revoke", "list", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
		{[]string{"scope", "list", "--kubeconfig", kubeconfigOf(t, "https://192.0.2.1"), "--context", ""}, "c"},
	} {
		if got := completed(t, tc.args...); !slices.Contains(got, tc.want) {
			t.Errorf("%v completes to %q, want %s", tc.args, got, tc.want)
		}
	}
	if got := completed(t, "rules", "NR-"); slices.Contains(got, "NA-CSR-1") {
		t.Error("NR- completes to a rule of node-authorizer")
	}
}

func TestCompletionScriptsExist(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out bytes.Buffer
		root := newRootCommand()
		root.SetOut(&out)
		root.SetArgs([]string{"completion", shell})
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), "bulkhead") {
			t.Errorf("%s: %v, %d bytes", shell, err, out.Len())
		}
	}
}
