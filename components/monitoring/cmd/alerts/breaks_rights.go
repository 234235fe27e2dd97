// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// withoutResource returns rules without a resource.
func withoutResource(rules []rbacv1.PolicyRule, resource string) []rbacv1.PolicyRule {
	var kept []rbacv1.PolicyRule
	for _, rule := range rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == resource })
		if len(rule.Resources) > 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}

// takeFromClusterRole removes a resource from a ClusterRole.
func (c *cluster) takeFromClusterRole(name, resource string) step {
	return func(ctx context.Context) error {
		role, err := c.client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		role.Rules = withoutResource(role.Rules, resource)
		_, err = c.client.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
		return err
	}
}

// restoreClusterRole gives a ClusterRole the rules of its manifest.
func (c *cluster) restoreClusterRole(manifest string) step {
	return func(ctx context.Context) error {
		var want rbacv1.ClusterRole
		if err := c.manifest(manifest, &want); err != nil {
			return err
		}
		role, err := c.client.RbacV1().ClusterRoles().Get(ctx, want.Name, metav1.GetOptions{})
		if err != nil || reflect.DeepEqual(role.Rules, want.Rules) {
			return err
		}
		role.Rules = want.Rules
		_, err = c.client.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
		return err
	}
}

func viewStale(c *cluster) *breakage {
	return viewOf(c, "volumeattachments", "VolumeAttachments", "bulkhead:node-authorizer",
		"node-authorizer/clusterrole.yaml")
}

func scopeViewStale(c *cluster) *breakage {
	return viewOf(c, "serviceaccounts", "ServiceAccounts", "bulkhead:node-authorizer:node-scope",
		"node-authorizer-scope/clusterrole.yaml")
}

// viewOf takes from node-authorizer the right to watch a resource. The ClusterRole of the manifest has this right.
func viewOf(c *cluster, resource, title, role, manifest string) *breakage {
	return &breakage{
		causes: []cause{{"BulkheadViewStale", map[string]string{"resource": resource}}},
		broken: "A ClusterRole of node-authorizer loses " + title + ". The watch that is open ends after up to 150 s, " +
			"and the next one is denied.",
		repaired: "The ClusterRole is restored.",
		begin:    c.takeFromClusterRole(role, resource),
		repair:   c.restoreClusterRole(manifest),
	}
}

func lookupsFail(c *cluster) *breakage {
	const name = "bulkhead:node-restriction"
	return &breakage{
		causes:   []cause{{"BulkheadLookupsFail", map[string]string{"job": jobRestriction}}},
		broken:   "The ClusterRoles of node-restriction lose pods. The worker's kubelet requests tokens for a pod.",
		repaired: "The ClusterRoles are restored.",
		begin:    steps(c.takeFromClusterRole(name, "pods"), c.takeFromClusterRole(name+":node-scope", "pods")),
		again:    c.requestToken,
		repair: every(c.restoreClusterRole("node-restriction/clusterrole.yaml"),
			c.restoreClusterRole("node-restriction-scope/clusterrole.yaml")),
	}
}

// stickyKey is the key of the taint of historyNotWritten.
const stickyKey = "example.com/bulkhead-alerts"

func historyNotWritten(c *cluster) *breakage {
	const name = "bulkhead:node-restriction"
	change := func(rules func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) step {
		return func(ctx context.Context) error {
			role, err := c.client.RbacV1().Roles(systemNamespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			after := rules(slices.Clone(role.Rules))
			if reflect.DeepEqual(role.Rules, after) {
				return nil
			}
			role.Rules = after
			_, err = c.client.RbacV1().Roles(systemNamespace).Update(ctx, role, metav1.UpdateOptions{})
			return err
		}
	}
	return &breakage{
		causes: one("BulkheadNodeHistoryIncomplete"),
		broken: "node-restriction loses the right to write its ConfigMap. The worker gets a taint that `stickyTaints` " +
			"lists.",
		repaired: "The Role is restored. Afterwards, the taint is removed.",
		prepare: c.script(saved(restrictionConfig) +
			replaced(restrictionConfig, "printf '\\nstickyTaints: [\""+stickyKey+"\"]\\n' >>$f")),
		begin: steps(change(func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
			for i := range rules {
				rules[i].Verbs = []string{"get", "list", "watch"}
			}
			return rules
		}), c.taint(true)),
		repair: func(ctx context.Context) error {
			var want rbacv1.Role
			if err := c.manifest("node-restriction/role.yaml", &want); err != nil {
				return err
			}
			return change(func([]rbacv1.PolicyRule) []rbacv1.PolicyRule { return want.Rules })(ctx)
		},
		restore: every(steps(c.taint(false), c.awaitNoHistory), c.script(restored(restrictionConfig))),
	}
}

// taint adds the sticky taint to the worker, or removes it.
func (c *cluster) taint(add bool) step {
	return func(ctx context.Context) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			node, err := c.client.CoreV1().Nodes().Get(ctx, c.worker, metav1.GetOptions{})
			if err != nil {
				return err
			}
			taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints),
				func(t corev1.Taint) bool { return t.Key == stickyKey })
			if add {
				taints = append(taints, corev1.Taint{Key: stickyKey, Effect: corev1.TaintEffectPreferNoSchedule})
			}
			if len(taints) == len(node.Spec.Taints) {
				return nil
			}
			node.Spec.Taints = taints
			_, err = c.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
			return err
		})
	}
}

// awaitNoHistory waits until node-restriction has removed the taint from its ConfigMap.
func (c *cluster) awaitNoHistory(ctx context.Context) error {
	return await(ctx, func(ctx context.Context) error {
		records, err := c.client.CoreV1().ConfigMaps(systemNamespace).Get(ctx, "bulkhead-node-restriction",
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		if text, found := records.Data[c.worker]; found {
			return fmt.Errorf("the ConfigMap has a record of %s: %.100s", c.worker, firstLine(text))
		}
		return nil
	})
}

const (
	scopeAnnotation = "bulkhead.dev/node-scoped-resources"
	scopeNamespace  = "bulkhead-alerts"
	// scopeAccounts is more than the 64 different values that a namespace may have.
	scopeAccounts = 70
)

func scopesBeyondShare(c *cluster) *breakage {
	return &breakage{
		causes:   one("BulkheadNodeScopeBeyondShare"),
		broken:   fmt.Sprintf("A namespace gets %d ServiceAccounts with different node scopes.", scopeAccounts),
		repaired: "The namespace is deleted.",
		begin: func(ctx context.Context) error {
			_, err := c.client.CoreV1().Namespaces().Create(ctx,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: scopeNamespace}}, metav1.CreateOptions{})
			for i := 0; i < scopeAccounts && err == nil; i++ {
				_, err = c.client.CoreV1().ServiceAccounts(scopeNamespace).Create(ctx,
					&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
						Name:        fmt.Sprintf("scoped-%d", i),
						Annotations: map[string]string{scopeAnnotation: fmt.Sprintf("pods, things-%d.example.com", i)},
					}}, metav1.CreateOptions{})
			}
			return err
		},
		repair: func(ctx context.Context) error {
			return unlessGone(c.client.CoreV1().Namespaces().Delete(ctx, scopeNamespace, metav1.DeleteOptions{}))
		},
	}
}

// unlessGone returns no error if the object of a repair does not exist.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func scopeUnread(c *cluster) *breakage {
	const name, namespace = "bulkhead-alerts", metav1.NamespaceDefault
	// annotate sets the annotation, or removes it if the value is null. The value is JSON.
	annotate := func(ctx context.Context, value string) error {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Patch(ctx, name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, scopeAnnotation, value), metav1.PatchOptions{})
		return err
	}
	return &breakage{
		causes: one("BulkheadNodeScopeUnread"),
		broken: "A ServiceAccount without pods gets the annotation `" + scopeAnnotation + ": Pods`. The name of the " +
			"resource is `pods`.",
		repaired: "The annotation is removed. Afterwards, the ServiceAccount is deleted.",
		prepare: func(ctx context.Context) error {
			_, err := c.client.CoreV1().ServiceAccounts(namespace).Create(ctx,
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			return err
		},
		begin:  func(ctx context.Context) error { return annotate(ctx, `"Pods"`) },
		repair: func(ctx context.Context) error { return unlessGone(annotate(ctx, "null")) },
		restore: func(ctx context.Context) error {
			return unlessGone(c.client.CoreV1().ServiceAccounts(namespace).Delete(ctx, name, metav1.DeleteOptions{}))
		},
	}
}
