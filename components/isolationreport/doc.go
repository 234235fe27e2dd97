// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package isolationreport makes a NodeIsolationReport from the results of suites, and compares two
// reports.
//
// A suite writes [Results]: what each spec claims, expects and saw. [Build] puts the results of one
// cluster together. The package knows no test framework, so every program can use it.
package isolationreport
