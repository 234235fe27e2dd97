// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command envoy is the load balancer in front of several control planes on a machine that cannot
// pull kind's image of Envoy. kind starts it as `envoy -c FILE` and writes Envoy's configuration of
// clusters. This program reads only what kind writes: the addresses of the API servers.
//
// Like kind's Envoy, it checks /healthz of each server every two seconds, takes a server out after
// two failures, and sends new connections to the others in turn. It does not close connections.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// clusters is the file that kind writes. It replaces the file when the control planes change.
	clusters = "/home/envoy/cds.yaml"
	listen   = ":6443"

	reloadInterval = 500 * time.Millisecond
)

func main() {
	_ = flag.String("c", "", "Envoy's bootstrap configuration. It is not read: its content is always the same.")
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Clients are outside of this container.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	b := newBalancer(healthz, dial)
	go b.follow(ctx, clusters)
	go b.accept(listener)
	<-ctx.Done()
	return listener.Close()
}

// follow reads the file again when it has changed.
func (b *balancer) follow(ctx context.Context, file string) {
	var read time.Time
	for ctx.Err() == nil {
		if info, err := os.Stat(file); err == nil && info.ModTime() != read {
			read = info.ModTime()
			data, err := os.ReadFile(file)
			if err == nil {
				err = b.configure(ctx, data)
			}
			if err != nil {
				log.Printf("cannot read the API servers from %s: %v", file, err)
			}
		}
		time.Sleep(reloadInterval)
	}
}
