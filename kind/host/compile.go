// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"io/fs"
	"os"
)

// memoryToHurry is enough for one linker and eight compilers, which take up to 640 MB each.
const memoryToHurry = 12 << 30

// GoFlags are the flags of the Makefile for all programs of a cluster, so they share its build cache.
const GoFlags = "GOFLAGS=-mod=readonly -buildvcs=false -gcflags=all=-dwarf=false"

// CompilerEnv returns settings for Go's compiler where it runs for minutes. On a machine with enough
// memory, it collects garbage less often. It then takes a seventh less time, and linking a program of
// Kubernetes takes up to 3 GB. A user's GOGC stays. Do not use these settings for tests: they would run with
// them, too.
func CompilerEnv() []string { return compilerEnv(os.DirFS("/"), os.Getenv("GOGC")) }

func compilerEnv(root fs.FS, gogc string) []string {
	if gogc != "" || readLimits(root, Engine{}).memory < memoryToHurry {
		return nil
	}
	return []string{"GOGC=400"}
}
