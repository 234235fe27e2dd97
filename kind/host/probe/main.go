// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command probe is the program of a small image. A run of it shows whether an engine can run a
// privileged container.
package main

func main() {}
