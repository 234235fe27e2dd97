// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command nodeprobe asks the kubelet of the node that it runs on, through
// kubelet-auth-proxy and on loopback, and prints what each took, as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/probe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	proxy := flag.String("proxy", "", "host:port of kubelet-auth-proxy")
	proxyCert := flag.String("proxy-cert", "", "client certificate for it, without .crt and .key")
	direct := flag.String("direct", "", "host:port of the kubelet")
	directCert := flag.String("direct-cert", "", "client certificate for it, without .crt and .key")
	paths := flag.String("paths", "/metrics/resource", "what is asked for, separated by commas")
	runs := flag.Int("runs", 5, "how often each way has its turn")
	turn := flag.Duration("turn", time.Second, "how long a turn takes")
	flag.Parse()
	took, err := probe.Probe{
		Proxy: way(*proxy, *proxyCert), Direct: way(*direct, *directCert), Paths: strings.Split(*paths, ","), Runs: *runs, Turn: *turn,
	}.Run(ctx)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(took)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodeprobe:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func way(address, files string) probe.Way {
	return probe.Way{Address: address, CertFile: files + ".crt", KeyFile: files + ".key"}
}
