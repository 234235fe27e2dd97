// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podNetwork is the file with the pod network of a node of the reference cluster
// (kind/refcluster/network.go). `make up` writes it, with the podCIDR of that time.
const podNetwork = "/etc/cni/net.d/10-bulkhead.conflist"

// FollowPodCIDR updates the pod network of the reference cluster after a node's podCIDR has
// changed, as `make up` does. Other pod networks update themselves, so it does not change them. It
// is idempotent.
func (c *Cluster) FollowPodCIDR(ctx context.Context, name, before string) error {
	if output, err := c.Host.Run(ctx, name, "test ! -e "+podNetwork+" || echo ours"); err != nil ||
		strings.TrimSpace(output) == "" {
		return err
	}
	list, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var follower *corev1.Node
	var peers []string
	for i := range list.Items {
		if node := &list.Items[i]; node.Name == name {
			follower = node
		} else {
			peers = append(peers, node.Name)
		}
	}
	if follower == nil || follower.Spec.PodCIDR == "" || InternalIP(follower) == "" {
		return fmt.Errorf("node %s has no podCIDR or no address", name)
	}
	var problems []error
	for _, peer := range peers {
		_, err := c.Host.Run(ctx, peer, routeScript(before, follower.Spec.PodCIDR, InternalIP(follower)))
		problems = append(problems, err)
	}
	_, err = c.Host.Run(ctx, name, rangeScript(podNetwork, follower.Spec.PodCIDR))
	return errors.Join(append(problems, err)...)
}

// routeScript routes the addresses of the node's pods to the node.
func routeScript(before, now, address string) string {
	script := fmt.Sprintf("ip route replace %s via %s\n", now, address)
	if before != "" && before != now {
		script += fmt.Sprintf("ip route del %s via %s 2>/dev/null || true\n", before, address)
	}
	return "set -e\n" + script
}

// rangeScript sets the address range of new pods to the podCIDR. It writes the file in place:
// containerd reacts to a write, but ignores a file that is renamed into place.
func rangeScript(file, now string) string {
	return fmt.Sprintf(`set -e
grep -qF '"subnet": "%[1]s"' %[2]s && exit 0
new=$(sed 's#"subnet": "[^"]*"#"subnet": "%[1]s"#' %[2]s)
printf '%%s\n' "$new" >%[2]s
`, now, file)
}

// InternalIP returns the internal address of a Node, or "" if it has none.
func InternalIP(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}
