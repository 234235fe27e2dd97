// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// On a node that is not guarded, the program is idle. It serves as soon as the files exist.
func TestRunWaitsForNodeInstall(t *testing.T) {
	var file string
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	r := beginWith(t, func(o *options) {
		o.waitForInstall, file = true, o.certFile
		rename(file, file+".later")
	})
	r.await("/metrics", "bulkhead_kubelet_proxy_idle 1")
	if got := r.get("/metrics/resource", r.admin, ""); !strings.Contains(got, "connection refused") {
		t.Errorf("the idle program answers %q", got)
	}
	rename(file+".later", file)
	r.await("/readyz", "200 ok")
	r.await("/metrics", "bulkhead_kubelet_proxy_idle 0")
	if got := r.get("/metrics/resource", r.admin, ""); !strings.HasPrefix(got, "200 for ") {
		t.Errorf("the program answers %q", got)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// An idle program that is stopped ends without an error.
func TestStoppedWhileIdle(t *testing.T) {
	r := beginWith(t, func(o *options) {
		o.waitForInstall = true
		if err := os.Remove(o.certFile); err != nil {
			t.Fatal(err)
		}
	})
	r.await("/livez", "200 ok")
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}
