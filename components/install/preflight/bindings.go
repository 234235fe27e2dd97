// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	name      string // includes the namespace, if there is one
	namespace string
	role      rbacv1.RoleRef
	subjects  []rbacv1.Subject
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
		found := judge(b, in)
		if len(found) > 0 && slices.ContainsFunc(b.subjects, isNode) {
			needed, err := leftToRBAC(ctx, in, b)
			if err != nil {
				return nil, err
			}
			if needed {
				continue
			}
		}
		findings = append(findings, found...)
	}
	if len(findings) == 0 {
		return []Finding{{OK, bindingCheck,
			"none but those that Bulkhead leaves to RBAC; ClusterRoleBinding system:node has no subjects"}}, nil
	}
	return findings, nil
}

// leftToRBAC reports whether the role gives only rights that node-authorizer leaves to RBAC by the rules
// NA-PASS-4 and NA-PASS-5.
func leftToRBAC(ctx context.Context, in Input, b binding) (bool, error) {
	given, err := rightsOf(ctx, in, b)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read %s %s of binding %s: %w", b.role.Kind, b.role.Name, b.name, err)
	}
	for _, r := range given {
		if !asksForToken(r) && !readsConfigMapOfKubeadm(b.namespace, r) {
			return false, nil
		}
	}
	return len(given) > 0, nil
}

func rightsOf(ctx context.Context, in Input, b binding) ([]rbacv1.PolicyRule, error) {
	if b.role.Kind == "Role" {
		role, err := in.Client.RbacV1().Roles(b.namespace).Get(ctx, b.role.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	role, err := in.Client.RbacV1().ClusterRoles().Get(ctx, b.role.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return role.Rules, nil
}

// groupOfVerb are the verbs that exist only for the access checks of NodeRestriction, by API group.
//
// Source: plugin/pkg/admission/noderestriction/admission.go.
var groupOfVerb = map[string]string{
	"request-serviceaccounts-token-audience":        "",
	"request-serviceaccounts-podcertificate-signer": "certificates.k8s.io",
}

func asksForToken(r rbacv1.PolicyRule) bool {
	return len(r.NonResourceURLs) == 0 && allOf(r.Verbs, func(verb string) bool {
		group, known := groupOfVerb[verb]
		return known && allOf(r.APIGroups, func(g string) bool { return g == group })
	})
}

// readsConfigMapOfKubeadm is for the Roles of kubeadm in kube-system, for example kube-proxy.
func readsConfigMapOfKubeadm(namespace string, r rbacv1.PolicyRule) bool {
	return namespace == metav1.NamespaceSystem && len(r.NonResourceURLs) == 0 && onlyOne(r.Verbs, "get") &&
		onlyOne(r.APIGroups, "") && onlyOne(r.Resources, "configmaps") && allOf(r.ResourceNames, func(name string) bool {
		return name == "kubeadm-config" || name == "kubelet-config" || name == "kube-proxy"
	})
}

func onlyOne(values []string, want string) bool {
	return allOf(values, func(value string) bool { return value == want })
}

// allOf reports whether the list has values, and all of them are wanted.
func allOf(values []string, wanted func(string) bool) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(value string) bool { return !wanted(value) })
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
		all = append(all, binding{b.Name, "", b.RoleRef, b.Subjects})
	}
	inNamespaces, err := in.Client.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing RoleBindings: %w", err)
	}
	for _, b := range inNamespaces.Items {
		all = append(all, binding{b.Namespace + "/" + b.Name, b.Namespace, b.RoleRef, b.Subjects})
	}
	return all, nil
}
