// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command probe is the content of the tiny image that shows whether an engine
// can run a privileged container.
package main

func main() {}
