// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/version"
)

func TestVersion(t *testing.T) {
	build := version.Info{Version: "v0.2.0", Commit: "c0ffee", TreeState: "clean", BuildDate: "2026-01-02T03:04:05Z",
		GoVersion: "go1.26.0", Platform: "linux/arm64"}
	for _, tt := range []struct{ format, want string }{
		{"text", `bulkhead v0.2.0 (go1.26.0, linux/arm64)
commit c0ffee (clean), of 2026-01-02T03:04:05Z
tested on Kubernetes 1.37; needs 1.34 or later
`},
		{"json", `{
  "version": "v0.2.0",
  "commit": "c0ffee",
  "treeState": "clean",
  "buildDate": "2026-01-02T03:04:05Z",
  "goVersion": "go1.26.0",
  "platform": "linux/arm64",
  "kubernetes": {
    "oldest": "1.34",
    "tested": [
      "1.37"
    ]
  }
}
`},
	} {
		t.Run(tt.format, func(t *testing.T) {
			var out bytes.Buffer
			if err := printVersion(&out, tt.format, build); err != nil || out.String() != tt.want {
				t.Errorf("error %v, output:\n%s", err, out.String())
			}
		})
	}
}

func TestVersionCommandPrintsThisBuild(t *testing.T) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs([]string{"version"})
	if err := root.Execute(); err != nil || !strings.HasPrefix(out.String(), "bulkhead "+buildVersion()+" (go1.") {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
