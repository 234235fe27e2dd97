// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo plays the story of one stolen certificate on the reference cluster: what an attacker
// with a kubelet's credentials can do on Kubernetes alone, and what Bulkhead denies. `make demo` runs
// it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// The exit codes.
const (
	exitFailed      = 1
	exitInterrupted = 130
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	// Under nohup, SIGHUP stays ignored.
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// A second signal ends this program at once.
	context.AfterFunc(ctx, stop)
	// A closed pipe must not prevent the cleanup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(report(ctx, newCommand().ExecuteContext(ctx)))
}

func report(ctx context.Context, err error) int {
	interrupted := ctx.Err() != nil
	if err != nil && (!interrupted || !onlyInterrupt(err)) {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	switch {
	case interrupted:
		return exitInterrupted
	case err != nil:
		return exitFailed
	}
	return 0
}

// onlyInterrupt is true if the error says nothing more than that the demo was interrupted.
func onlyInterrupt(err error) bool { return err.Error() == context.Canceled.Error() }

type options struct {
	pace    float64
	noColor bool
	record  string
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play the story of one stolen certificate on the cluster of `make up`",
		Long: `Demo shows what an attacker with a kubelet's credentials can do: first on
Kubernetes alone (profile in-tree), then with Bulkhead (profile hardened).
Every command is run, and every answer is real.

It switches the profile with make up, which takes about a minute each time. At
the end, also after Ctrl-C, it removes what it made and puts the profile back.

Exit codes: 0 if every outcome was the expected one, 1 if not or if something
failed, 130 after an interrupt.`,
		Example: `  make demo
  make demo DEMO_FLAGS='--pace=0.5 --no-color'
  make demo DEMO_FLAGS=--record=demo.cast && asciinema play demo.cast`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.Flags().Float64Var(&o.pace, "pace", 1, "the length of all pauses: 0.5 is twice as fast, and 0 has none")
	cmd.Flags().BoolVar(&o.noColor, "no-color", false,
		"print without colors, as with NO_COLOR, or if the output is not a terminal")
	cmd.Flags().StringVar(&o.record, "record", "", "also write a recording (asciinema, version 2) to this file")
	return cmd
}

func run(ctx context.Context, o options) (err error) {
	if math.IsNaN(o.pace) || o.pace < 0 || o.pace > 10 {
		return fmt.Errorf("cannot play at --pace=%g: use a number from 0 to 10", o.pace)
	}
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	s := &screen{ctx: ctx, out: os.Stdout, pace: o.pace, colors: !o.noColor && os.Getenv("NO_COLOR") == "" && terminal()}
	if o.record != "" {
		file, failed := os.Create(o.record)
		if failed != nil {
			return fmt.Errorf("cannot record: %w; name a file that can be written", failed)
		}
		recording := newCast(file, time.Now)
		s.out, s.paused = io.MultiWriter(os.Stdout, recording), recording.pause
		defer func() { err = errors.Join(err, recording.err, file.Close()) }()
	}
	p := player{screen: s, runner: c, steps: story(), retryTimeout: time.Minute, interval: time.Second,
		got: map[string][]outcome{}}
	return (&tour{player: p, cluster: c}).run(ctx)
}

// terminal is true if the output is one.
func terminal() bool {
	_, err := unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS)
	return err == nil
}
