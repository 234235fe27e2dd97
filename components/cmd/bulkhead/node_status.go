// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

// printNode prints how clients reach this node's kubelet.
func printNode(ctx context.Context, out io.Writer, k *node.Installer) error {
	record, err := node.ReadRecord(k.Layout)
	if err != nil {
		return err
	}
	unfinished, err := k.Unfinished()
	if err != nil {
		return err
	}
	if record == nil || unfinished {
		what := "listens as kubeadm configured it (Bulkhead is not installed)"
		if k.Installed() {
			what = "unfinished: node install runs now, or was killed; the next install or uninstall rolls it back first"
		}
		row(out, "kubelet", what)
		return nil
	}
	row(out, "installed by", "bulkhead "+record.Version)
	rotator := k.Layout.KubeletRotator(record.Certificates, time.Now)
	clients := record.LoopbackClients.String() + ": " + record.LoopbackClients.Description()
	if record.LoopbackFrom == node.FromFlag {
		clients += " (set by --loopback-clients)"
	}
	row(out, "loopback clients", clients)
	printHealth(out, "kubelet", k.System.Closed(ctx, rotator.Leaves[0].Pair, record.LoopbackClients))
	switch proxy, err := k.System.Proxy(ctx); {
	case err != nil:
		row(out, "proxy", "unknown: cannot ask the API server: "+err.Error())
	case proxy.Address == "":
		row(out, "proxy", "none on this node: no client can reach the kubelet")
	default:
		printHealth(out, "proxy", k.System.ProxyServes(ctx, proxy.Address))
	}
	_, _ = fmt.Fprintln(out)
	return printCertificates(out, rotator.Status())
}
