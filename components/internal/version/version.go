// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package version is the version of Bulkhead's programs. scripts/ldflags.sh has the linker flags
// that set it.
//
// It does not use k8s.io/component-base/version. Kubernetes' libraries take the version there for
// the one of Kubernetes: with v0.2.0, CEL has only what Kubernetes 0.1 had, and the installer
// rejects valid policies.
package version

import "runtime"

// The linker sets these. A program that is built without scripts/ldflags.sh has these values.
var (
	gitVersion   = "dev"
	gitCommit    = "unknown"
	gitTreeState = "unknown"
	buildDate    = "unknown"
)

// Info describes a build.
type Info struct {
	// Version is a release, "v0.2.0", or a description of the commit. It is "dev" if it is not known.
	Version string `json:"version"`
	// Commit is the commit in full, and TreeState is clean or dirty. Each can be "unknown".
	Commit    string `json:"commit"`
	TreeState string `json:"treeState"`
	// BuildDate is the time of the commit, so that each build of a commit has the same bytes.
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Get returns the description of this program's build.
func Get() Info {
	return Info{
		Version: gitVersion, Commit: gitCommit, TreeState: gitTreeState, BuildDate: buildDate,
		GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
