// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster/constants"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// Size is the number of nodes of a cluster.
type Size struct{ ControlPlanes, Workers int }

// DefaultSize is the size of the cluster of `make up`.
var DefaultSize = Size{ControlPlanes: 1, Workers: 1}

// Check returns an error for a size that the reference cluster does not support.
func (s Size) Check() error {
	if s.ControlPlanes < 1 || s.Workers < 1 {
		return fmt.Errorf("a cluster needs at least one control plane and one worker, not %d and %d", s.ControlPlanes,
			s.Workers)
	}
	return nil
}

func (s Size) kindNodes() []v1alpha4.Node {
	return slices.Concat(slices.Repeat([]v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}, s.ControlPlanes),
		slices.Repeat([]v1alpha4.Node{{Role: v1alpha4.WorkerRole}}, s.Workers))
}

// ControlPlanes returns the names of the control-plane nodes.
func (c *Cluster) ControlPlanes() []string {
	return nodeNames(c.Name, constants.ControlPlaneNodeRoleValue, c.Size.ControlPlanes)
}

func (c *Cluster) workers() []string {
	return nodeNames(c.Name, constants.WorkerNodeRoleValue, c.Size.Workers)
}

func (c *Cluster) nodes() []string { return append(c.ControlPlanes(), c.workers()...) }

// nodeNames returns kind's names for the nodes of a role.
func nodeNames(cluster, role string, count int) []string {
	var names []string
	for i := range count {
		name := cluster + "-" + role
		if i > 0 {
			name += strconv.Itoa(i + 1)
		}
		names = append(names, name)
	}
	return names
}

// existingSize returns an error if there is no complete cluster.
func (c *Cluster) existingSize() (Size, error) {
	nodes, err := c.provider.ListNodes(c.Name)
	if err != nil {
		return Size{}, fmt.Errorf("listing the nodes: %w", err)
	}
	servers, err := nodeutils.SelectNodesByRole(nodes, constants.ControlPlaneNodeRoleValue)
	if err != nil {
		return Size{}, err
	}
	workers, err := nodeutils.SelectNodesByRole(nodes, constants.WorkerNodeRoleValue)
	if err != nil {
		return Size{}, err
	}
	size := Size{ControlPlanes: len(servers), Workers: len(workers)}
	return size, size.Check()
}

// prepareForSize gets the image of the load balancer if there are several control planes.
func (c *Cluster) prepareForSize(ctx context.Context, nodeImage string) error {
	if c.Size.ControlPlanes == 1 {
		return nil
	}
	return c.Progress.Step(ctx, "getting the image of the load balancer", func(ctx context.Context, log io.Writer) error {
		return c.ensureBalancerImage(ctx, log, nodeImage)
	})
}

// Nodes is the number of nodes.
func (s Size) Nodes() int { return s.ControlPlanes + s.Workers }
