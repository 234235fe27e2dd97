// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Grant gives a user rights in the whole cluster with RBAC and a new ClusterRole, until the spec
// ends. It returns after the API server's RBAC authorizer has the binding.
func (e *Env) Grant(ctx context.Context, user string, rules ...rbacv1.PolicyRule) {
	ginkgo.GinkgoHelper()
	role := &rbacv1.ClusterRole{Rules: rules}
	role.Name = "e2e-granted-" + rand.String(8)
	e.Put(ctx, role)
	e.Bind(ctx, user, role.Name)
}

// Bind binds a user to a ClusterRole until the spec ends. It returns after the API server's RBAC
// authorizer has the binding. RBAC learns of bindings by a watch, so an earlier request would be
// denied by RBAC. Bind also binds a witness and checks that one: other authorizers decide about the
// user, too.
func (e *Env) Bind(ctx context.Context, user, clusterRole string) {
	ginkgo.GinkgoHelper()
	role, err := e.Client.RbacV1().ClusterRoles().Get(ctx, clusterRole, metav1.GetOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(role.Rules).NotTo(gomega.BeEmpty(), "ClusterRole %s grants nothing", clusterRole)
	witness := "e2e-witness-" + rand.String(8)
	binding := &rbacv1.ClusterRoleBinding{
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: witness},
		},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
	}
	binding.Name = witness
	e.Put(ctx, binding)
	gomega.Eventually(ctx, func() (bool, error) {
		review := aboutFirst(witness, role.Rules[0])
		review, err := e.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return review.Status.Allowed, nil
	}).WithTimeout(Soon).WithPolling(pollInterval).Should(gomega.BeTrue(), "RBAC has the binding of %s to %s", user,
		clusterRole)
}

// aboutFirst returns a review of the first right that the rule grants.
func aboutFirst(user string, rule rbacv1.PolicyRule) *authorizationv1.SubjectAccessReview {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user}}
	if len(rule.NonResourceURLs) > 0 {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: rule.Verbs[0],
			Path: rule.NonResourceURLs[0]}
		return review
	}
	attributes := &authorizationv1.ResourceAttributes{Verb: rule.Verbs[0], Group: rule.APIGroups[0]}
	attributes.Resource, attributes.Subresource, _ = strings.Cut(rule.Resources[0], "/")
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	review.Spec.ResourceAttributes = attributes
	return review
}
