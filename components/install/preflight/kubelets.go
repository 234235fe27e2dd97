// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletaccess"
)

// kubeletFindings names users that reach kubelets through nodes/proxy and that would lose access
// with kubelet-auth-proxy in strict mode.
func kubeletFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets {
		return nil, nil
	}
	roles, err := in.Client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ClusterRoles: %w", err)
	}
	bindings, err := in.Client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ClusterRoleBindings: %w", err)
	}
	var losers []string
	for _, owner := range kubeletaccess.Find(kubeletaccess.Objects{Roles: roles.Items, Bindings: bindings.Items}) {
		// The installer gives the API server the rights that it needs.
		if len(owner.Loses) > 0 && owner.Subject != "User "+in.KubeletClient {
			losers = append(losers, owner.Subject)
		}
	}
	const check = "users with nodes/proxy"
	if len(losers) == 0 {
		return []Finding{{OK, check, "no user loses access by kubelet-auth-proxy"}}, nil
	}
	slices.Sort(losers)
	detail := strings.Join(losers[:min(len(losers), mostNamed)], ", ")
	if more := len(losers) - mostNamed; more > 0 {
		detail += fmt.Sprintf(" and %d more", more)
	}
	return []Finding{{Warn, check,
		detail + ": kubelet-auth-proxy no longer takes nodes/proxy for exec, attach, run, port-forward, container logs and " +
			"debug. " +
			"`bulkhead kubelet-access` names the rights that each needs instead, if it uses these; to look first, install " +
			"with --beyond-upstream=audit or --kubelet-api=false"}}, nil
}
