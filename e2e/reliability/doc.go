// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reliability has the results of disruptions and of the soak test, and writes them as a page
// and as a figure. The suite failure writes the results. It does not know the page.
package reliability
