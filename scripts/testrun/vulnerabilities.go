// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// govulncheck is the check that needs a database from the network.
const govulncheck = "govulncheck"

// databaseTimeout limits how long to wait for the vulnerability database.
const databaseTimeout = 10 * time.Second

// databaseAddress returns the address that scripts/verify.sh gives to govulncheck.
func databaseAddress() string { return envOr("GOVULNDB", "https://vuln.go.dev") }

// skipWithoutDatabase counts the check as skipped, and prints why, if the vulnerability database
// cannot be reached. A check that does not run must not look like one that passed.
func (j *job) skipWithoutDatabase(ctx context.Context, r *result, address string) bool {
	err := reachDatabase(ctx, address, databaseTimeout)
	if err != nil {
		fmt.Fprintf(j.out, "    govulncheck: skipped: %v\n", err)
		r.skipped++
	}
	return err != nil
}

// reachDatabase returns an error unless a vulnerability database answers at the address in time. It
// reads the file that govulncheck reads first.
func reachDatabase(ctx context.Context, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	fail := func(err error) error {
		return fmt.Errorf("cannot reach the vulnerability database %s: %w; set GOVULNDB to the address of a copy", address,
			err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/index/db.json", nil)
	if err != nil {
		return fail(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A copy on a disk has an address that begins with file://.
	transport.RegisterProtocol("file", http.NewFileTransport(http.Dir("/"))) //nolint:gosec // the user chooses the file
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fail(fmt.Errorf("the answer is %s", response.Status))
	}
	var index struct{ Modified time.Time }
	_ = json.NewDecoder(response.Body).Decode(&index)
	if index.Modified.IsZero() {
		return fail(errors.New("the answer is not the index of a database"))
	}
	return nil
}
