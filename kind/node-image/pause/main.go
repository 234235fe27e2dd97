// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command pause keeps the namespaces of a pod. In a shared PID namespace it is the init process, so
// it reaps orphaned processes. With -v it prints its name and ends, as that of Kubernetes does: then it
// is also a command for exec in a pod that has no other program.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-v" {
		fmt.Println("pause")
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
