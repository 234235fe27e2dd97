// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	bindingCheck = "rights of nodes by RBAC"
	parity       = "parity"

	nodeRole   = "system:node"
	nodesGroup = "system:nodes"
	nodePrefix = "system:node:"
)

// binding is a ClusterRoleBinding or a RoleBinding.
type binding struct {
	name     string // includes the namespace, if there is one
	role     rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// known are the bindings for nodes that kubeadm creates.
var known = map[string]bool{
	"kubeadm:node-autoapprove-certificate-rotation": true,
	"kube-system/kubeadm:kubelet-config":            true,
	"kube-system/kubeadm:nodes-kubeadm-config":      true,
}

// Bindings looks for rights that RBAC gives to nodes in addition to Bulkhead's rules, in a cluster with
// Bulkhead. Of the input, it needs the client and the profile.
func Bindings(ctx context.Context, in Input) ([]Finding, error) {
	in.Enforces = in.Profile != parity
	return bindingFindings(ctx, in)
}

// bindingFindings also judges what an installation changes.
func bindingFindings(ctx context.Context, in Input) ([]Finding, error) {
	all, err := listBindings(ctx, in)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, b := range all {
		findings = append(findings, judge(b, in)...)
	}
	if len(findings) == 0 {
		return []Finding{{OK, bindingCheck,
			"none but those that kubeadm gives; ClusterRoleBinding system:node has no subjects"}}, nil
	}
	return findings, nil
}

// judge fails for a right that works today and that mode enforce denies.
func judge(b binding, in Input) []Finding {
	const check = bindingCheck
	clusterRole := b.role.Kind == "ClusterRole" && b.role.Name == nodeRole
	var findings []Finding
	for _, s := range b.subjects {
		switch {
		case clusterRole && in.Profile == parity:
			findings = append(findings,
				Finding{Fail, check,
					fmt.Sprintf("%s gives %s %q the role system:node, which may read every secret: in parity, only RBAC comes "+
						"after node-authorizer; remove the subject", b.name, s.Kind, s.Name)})
		case isNode(s) && !known[b.name] && in.Profile != parity && !in.Enforces:
			findings = append(findings,
				Finding{Fail, check,
					fmt.Sprintf("%s gives %s %q the %s %s. node-authorizer denies nodes what no rule allows, also if RBAC "+
						"allows it. %s", b.name, s.Kind, s.Name, b.role.Kind, b.role.Name, moveRight(in.AuditOnly))})
		case clusterRole:
			findings = append(findings,
				Finding{Warn, check,
					fmt.Sprintf("%s gives %s %q the role system:node, which may read every secret: node-authorizer "+
						"denies this only to nodes; remove the subject", b.name, s.Kind, s.Name)})
		case isNode(s) && !known[b.name]:
			findings = append(findings,
				Finding{Warn, check,
					fmt.Sprintf("%s gives %s %q the %s %s: %s", b.name, s.Kind, s.Name, b.role.Kind, b.role.Name, effect(in.Profile))})
		}
	}
	return findings
}

// moveRight is what to do about a right before mode enforce.
func moveRight(audited bool) string {
	first := "Install with `mode: audit` first, and read"
	if audited {
		first = "Read"
	}
	return first + " `bulkhead audit`: it lists the requests. Give each workload that needs the right its own " +
		"ServiceAccount, and then remove the subject"
}

// effect describes the effect of such a binding under a profile.
func effect(profile string) string {
	if profile == parity {
		return "nodes have these rights in addition to Bulkhead's"
	}
	return "without effect on nodes while the node authorizer runs, in force when it is down"
}

func isNode(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.GroupKind && s.Name == nodesGroup ||
		s.Kind == rbacv1.UserKind && strings.HasPrefix(s.Name, nodePrefix)
}

func listBindings(ctx context.Context, in Input) ([]binding, error) {
	var all []binding
	clusterWide, err := in.Client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ClusterRoleBindings: %w", err)
	}
	for _, b := range clusterWide.Items {
		all = append(all, binding{b.Name, b.RoleRef, b.Subjects})
	}
	inNamespaces, err := in.Client.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing RoleBindings: %w", err)
	}
	for _, b := range inNamespaces.Items {
		all = append(all, binding{b.Namespace + "/" + b.Name, b.RoleRef, b.Subjects})
	}
	return all, nil
}
