// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// addLoopbackClients adds the workloads that use the kubelet's API on 127.0.0.1. notes say what it
// could not read. Static pods are notes too: a compromised node can create mirror pods, and the
// setting for these clients applies to all nodes.
func addLoopbackClients(ctx context.Context, client kubernetes.Interface, report *auditreport.Report) (notes []string) {
	found, skipped, err := preflight.LoopbackClients(ctx, client)
	if err != nil {
		notes = append(notes, fmt.Sprintf("cannot look for clients of 127.0.0.1:10250: %v", err))
	}
	if skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d ConfigMaps were not searched for clients of 127.0.0.1:10250", skipped))
	}
	var static []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		place, node := found[name].Place, found[name].Node
		switch {
		case preflight.UsesIPv6Loopback(place):
			notes = append(notes, webhook.Printable(name+": "+place, 512)+". "+preflight.MoveFromIPv6Loopback)
		case node != "":
			static = append(static, webhook.Printable(fmt.Sprintf("%s on node %s", name, node), 512))
		default:
			report.Add(auditreport.Finding{Rule: auditreport.LoopbackClient, User: name, Verb: "use", Name: "127.0.0.1:10250",
				Reason: place + " (a workload: its requests are not counted)"})
		}
	}
	if len(static) > 0 {
		notes = append(notes, staticLoopbackNote(static))
	}
	return notes
}

func staticLoopbackNote(static []string) string {
	const most = 5
	text := strings.Join(static[:min(most, len(static))], ", ")
	if more := len(static) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "static pods use 127.0.0.1:10250 [KA-LOOPBACK-1]: " + text + ". No setting is printed for them: it would " +
		"apply to all nodes, and a compromised node can create such pods. Let them use the node's address, or allow such " +
		"clients on these nodes only: `bulkhead node install --loopback-clients=allow`"
}
