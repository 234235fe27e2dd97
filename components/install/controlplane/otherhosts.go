// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// otherHosts are the other hosts of the control plane.
type otherHosts struct {
	// missing are the nodes for which kubeadm-config must wait, each with the reason.
	missing []string
	// stopped are the nodes on which node-authorizer does not run.
	stopped []string
	// late is true if all of them are listed with the settings of this host, and some are stopped.
	late bool
}

// reportGrace is how long a kubelet may take to report a new static pod. It cannot report it while
// its kube-apiserver restarts.
const reportGrace = time.Minute

// waitOtherHosts waits if only the report of a kubelet is missing.
func (p *plan) waitOtherHosts(ctx context.Context) (others otherHosts, err error) {
	err = p.Until(ctx, min(reportGrace, p.Timeout), "node-authorizer on the other hosts",
		func(ctx context.Context) error {
			now, err := p.otherHosts(ctx)
			if err != nil {
				return err // the deadline may have interrupted this check: the result of the one before it counts
			}
			if others = now; others.late {
				return fmt.Errorf("it does not run on %s", strings.Join(others.stopped, ", "))
			}
			return nil
		})
	if others.late && ctx.Err() == nil {
		return others, nil
	}
	return others, err
}

func (p *plan) otherHosts(ctx context.Context) (o otherHosts, err error) {
	nodes, err := p.Nodes.ControlPlaneNodes(ctx)
	if err != nil {
		return o, err
	}
	own := p.Layout.NodeName()
	others := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return node == own })
	unlisted := len(others) == len(nodes)
	if unlisted {
		p.Note("no control-plane Node has the name of this host, %s: check the label "+
			"node-role.kubernetes.io/control-plane", own)
	}
	if len(others) == 0 {
		return o, nil
	}
	running, err := p.Nodes.ComponentNodes(ctx, host.NodeAuthorizer.Name)
	if err != nil {
		return o, err
	}
	entries, err := hosts.Entries(ctx, p.ConfigMaps)
	if err != nil {
		return o, err
	}
	wiring, err := p.wiringHash()
	if err != nil {
		return o, err
	}
	o.missing = hosts.Missing(others, running, entries, wiring)
	o.stopped = slices.DeleteFunc(slices.Clone(others), func(node string) bool { return slices.Contains(running, node) })
	o.late = !unlisted && len(o.missing) > 0 && len(hosts.Missing(others, others, entries, wiring)) == 0
	if unlisted {
		o.missing = append(o.missing, own+" (no control-plane Node has this name)")
	}
	return o, nil
}
