// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/internal/clusteraddress"
)

// ServiceWith implements [noderestriction.Cluster].
func (v *View) ServiceWith(ctx context.Context, ip string) (string, error) {
	return look(ctx, v, inCluster("ipaddresses", ip), func(ctx context.Context) (string, error) {
		return clusteraddress.Service(ctx, v.client, ip)
	})
}

// APIServer implements [noderestriction.Cluster].
func (v *View) APIServer(ctx context.Context) ([]string, error) {
	return look(ctx, v, question{kind: "endpointslices"}, func(ctx context.Context) ([]string, error) {
		return clusteraddress.APIServer(ctx, v.client, clusteraddress.ServedTo(v.client))
	})
}
