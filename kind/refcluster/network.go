// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// conflist is the pod network configuration of one node: a veth pair for each pod, with addresses
// from the node's podCIDR.
const conflist = `{
  "cniVersion": "1.0.0",
  "name": "bulkhead",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": true,
      "mtu": 1400,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": "%s"}]]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

type nodeNetwork struct{ name, podCIDR, address string }

// EnsureNetwork configures the pod network of nodes with an image built from source. A pulled image
// has kind's own network, so nothing changes. A restart of a node removes the routes, so this runs
// at each `make up`.
func (c *Cluster) EnsureNetwork(ctx context.Context) error {
	if _, err := c.exec(ctx, io.Discard, c.ControlPlane(), "test", "-e",
		"/usr/local/bin/bulkhead-entrypoint"); err != nil {
		return nil
	}
	return c.Progress.Step(ctx, "connecting the pod network", func(ctx context.Context, log io.Writer) error {
		nodes, err := c.nodeNetworks(ctx, log)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			if err := c.connect(ctx, log, node, nodes); err != nil {
				return fmt.Errorf("connecting %s: %w", node.name, err)
			}
		}
		return nil
	})
}

// registration is how long nodes may take to register after `kubeadm join`: on a busy machine with two
// cores more than a minute.
const registration = 3 * time.Minute

func (c *Cluster) nodeNetworks(ctx context.Context, log io.Writer) ([]nodeNetwork, error) {
	var nodes []nodeNetwork
	err := poll(ctx, registration, func() (bool, error) {
		out, err := c.kubectl("get", "nodes", "-o",
			`jsonpath={range .items[*]}{.metadata.name} {.spec.podCIDR} `+
				`{.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}`).Output(ctx, log)
		if err != nil {
			return false, err
		}
		nodes, err = parseNodeNetworks(out, c.nodes())
		return err == nil, err
	})
	return nodes, err
}

// parseNodeNetworks returns the networks of the named nodes. It ignores other Nodes, which a test may
// have left: no machine is behind them.
func parseNodeNetworks(out string, names []string) ([]nodeNetwork, error) {
	lines := map[string][]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 0 {
			lines[fields[0]] = fields[1:]
		}
	}
	var nodes []nodeNetwork
	for _, name := range names {
		fields, registered := lines[name]
		switch {
		case !registered:
			return nil, fmt.Errorf("node %s has not registered yet", name)
		case len(fields) < 2:
			return nil, fmt.Errorf("node %s has no podCIDR or no address yet", name)
		}
		nodes = append(nodes, nodeNetwork{name: name, podCIDR: fields[0], address: fields[1]})
	}
	return nodes, nil
}

func (c *Cluster) connect(ctx context.Context, log io.Writer, node nodeNetwork, all []nodeNetwork) error {
	for _, peer := range all {
		if peer.name == node.name {
			continue
		}
		if _, err := c.exec(ctx, log, node.name, "ip", "route", "replace", peer.podCIDR, "via", peer.address); err != nil {
			return err
		}
	}
	// Write in place: containerd reacts to a write, but ignores a renamed file.
	write := c.Engine.Docker("exec", "-i", node.name, "sh", "-c", "cat >/etc/cni/net.d/10-bulkhead.conflist")
	write.Stdin = strings.NewReader(fmt.Sprintf(conflist, node.podCIDR))
	return write.Run(ctx, log)
}

// WaitReady waits until all nodes are Ready.
func (c *Cluster) WaitReady(ctx context.Context) error {
	return c.Progress.Step(ctx, "waiting for all nodes to be Ready", func(ctx context.Context, log io.Writer) error {
		return c.kubectl("wait", "--for=condition=Ready", "--timeout=180s", "nodes", "--all").Run(ctx, log)
	})
}
