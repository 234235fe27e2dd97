// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// childSignal is the variable with the signal for the child. The child is this test binary.
const childSignal = "BULKHEAD_TEST_CHILD_SIGNAL"

// childLimit ends a child that did not receive its signal.
const childLimit = 10 * time.Second

// TestClosedOutputDoesNotStopSignalHandling starts a process whose output has no reader, as after `bulkhead
// install | tee log` and Ctrl-C. Then it sends a signal to the process.
func TestClosedOutputDoesNotStopSignalHandling(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestChild$")
			child.Env = append(os.Environ(), childSignal+"="+signal.String())
			unread, output, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			child.Stdout = output
			if err := errors.Join(child.Start(), unread.Close(), output.Close()); err != nil {
				t.Fatal(err)
			}
			if err := child.Wait(); child.ProcessState.ExitCode() != 3 {
				t.Errorf("the process did not live to its end: %v", err)
			}
		})
	}
}

func TestChild(t *testing.T) {
	name, isChild := os.LookupEnv(childSignal)
	if !isChild {
		t.Skip("it is started by another test")
	}
	// Under nohup, this process inherits that SIGHUP is ignored. Undo that.
	unignored := make(chan os.Signal, 1)
	signal.Notify(unignored, syscall.SIGHUP)
	signal.Stop(unignored)
	ctx, _ := untilStopped(context.Background()) // needed until the process ends
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if signal.String() == name {
			if err := syscall.Kill(os.Getpid(), signal); err != nil {
				os.Exit(1)
			}
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(childLimit):
		os.Exit(4)
	}
	if _, err := os.Stdout.WriteString("putting the old state back\n"); !errors.Is(err, syscall.EPIPE) {
		os.Exit(2)
	}
	os.Exit(3)
}
