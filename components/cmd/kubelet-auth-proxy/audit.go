// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
)

// stdout is the value of --audit-log-path for standard output.
const stdout = "-"

// openAudit opens the audit log. It returns nil if there is none.
func openAudit(path string) (io.Writer, error) {
	switch path {
	case "":
		return nil, nil
	case stdout:
		return os.Stdout, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the audit log: %w", err)
	}
	return file, nil
}
