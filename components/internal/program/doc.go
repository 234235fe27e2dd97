// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package program is what the programs of Bulkhead that answer a kube-apiserver
// have in common: their flags about serving, limits, logging, feature gates and
// optional rules, the command that reads them, and the order in which things are
// started and stopped.
//
// It knows no policy. A program joins one to its transport, and gives both here.
package program
