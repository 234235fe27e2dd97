// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The audit commands print the authorizers of the file in force, so that the tests of the checks see
// what decides.
func TestOverrideReadsTheFileInForce(t *testing.T) {
	hardened, err := os.ReadFile(filepath.Join("..", "..", "manifests", "node-authorizer", "apiserver",
		"authorization-hardened.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, flag, file, want string }{
		{"profile hardened", "authorization-config", string(hardened), "--authorization-mode=Webhook,Node,RBAC"},
		{"without Node", "authorization-config", "authorizers:\n- type: Webhook\n- type: RBAC\n",
			"--authorization-mode=Webhook,RBAC"},
		{"AlwaysAllow", "authorization-config", "authorizers:\n  - name: a\n    type: \"AlwaysAllow\"\n",
			"--authorization-mode=AlwaysAllow"},
		{"an empty file", "authorization-config", "", "--authorization-mode="},
		{"the flag alone", "authorization-mode", "", "kube-apiserver --authorization-mode=FILE --v=2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "authorization.yaml")
			server := "kube-apiserver --" + tc.flag + "=" + file + " --v=2"
			for name, text := range map[string]string{
				"authorization.yaml": tc.file, "ps": "#!/bin/sh\necho '" + server + "'\necho 'etcd --x=y'\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for id, audit := range texts(t).Override {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", audit)
				cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "apiserverbin=kube-apiserver"}
				out, err := cmd.Output()
				want := strings.ReplaceAll(tc.want, "FILE", file)
				if got := strings.TrimSpace(string(out)); err != nil || got != want {
					t.Errorf("%s printed %q, not %q, error %v", id, got, want, err)
				}
			}
		})
	}
}

// A file that is parsed and written again changes: the value no becomes false. So only files with an
// overridden check are written again.
func TestOtherFilesStayAsTheyAre(t *testing.T) {
	const file = "---\ngroups:\n- checks:\n  - id: 5.1.2\n    tests: {test_items: [{compare: {value: no}}]}\n"
	replaced := 0
	got, err := replaceAudits([]byte(file), map[string]string{"1.2.6": "x"}, &replaced)
	if err != nil || string(got) != file || replaced != 0 {
		t.Errorf("%v, %d replaced, got\n%s", err, replaced, got)
	}
	got, err = replaceAudits([]byte(file), map[string]string{"5.1.2": "x"}, &replaced)
	if err != nil || !strings.Contains(string(got), "audit: x") || replaced != 1 {
		t.Errorf("%v, %d replaced, got\n%s", err, replaced, got)
	}
}
