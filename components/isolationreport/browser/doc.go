// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser tests the pages of reports in a real browser, Chromium without a window. Without
// it, the tests are skipped and print why. In `make test`, a missing browser is a failure.
package browser
