// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletaccess"
)

// kubeletFindings names users that reach kubelets through nodes/proxy, and what they would lose with
// kubelet-auth-proxy in strict mode. It is a warning also in mode enforce: RBAC does not show that
// something that works today would be denied. The usual role of Prometheus has nodes/proxy beside
// nodes/metrics, and uses only the latter. And strict mode still allows /pods, /healthz and /configz to
// a user who has only nodes/proxy. Only mode audit shows who uses what it denies.
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
	const check = "users with nodes/proxy"
	enforced := "nodes/proxy"
	if in.AuditOnly {
		enforced = "in mode enforce, nodes/proxy"
	}
	var findings []Finding
	more := 0
	for _, owner := range kubeletaccess.Find(kubeletaccess.Objects{Roles: roles.Items, Bindings: bindings.Items}) {
		// The installer gives the API server the rights that it needs.
		if len(owner.Loses) == 0 || owner.Subject == "User "+in.KubeletClient {
			continue
		}
		if len(findings) == mostNamed {
			more++
			continue
		}
		findings = append(findings, Finding{Warn, check, fmt.Sprintf("%s, by %s: %s is not enough for %s",
			owner.Subject, strings.Join(owner.Bindings, ", "), enforced, strings.Join(owner.Loses, ", "))})
	}
	if len(findings) == 0 {
		return []Finding{{OK, check, "no user loses access by kubelet-auth-proxy"}}, nil
	}
	remedy := "grant them the rights in brackets for what they use. To see what they use, install with `mode: audit` " +
		"first: `bulkhead audit` shows requests to the kubelets, and `bulkhead audit --audit-log=FILE` those through " +
		"kube-apiserver"
	if more > 0 {
		remedy = fmt.Sprintf("%d more: `bulkhead kubelet-access` lists them; ", more) + remedy
	}
	return append(findings, Finding{Warn, check, remedy}), nil
}
