// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// listAccess lists the users with nodes/proxy, as the administrator.
const listAccess = "KUBECONFIG=/etc/kubernetes/admin.conf bulkhead kubelet-access"

// compatOnly are the requests that get on nodes/proxy allows in compat mode only, as the command
// prints them.
var compatOnly = []string{
	"exec (create nodes/exec)", "attach (create nodes/attach)", "run (create nodes/run)",
	"portforward (create nodes/portforward)",
	"containerlogs (get nodes/containerlogs)", "debug (get nodes/debug)",
	"metrics through the API server (get nodes/metrics)", "stats through the API server (get nodes/stats)",
	"log through the API server (get nodes/log)",
}

// accessRow has the fields of a row that these specs read.
type accessRow struct {
	Subject      string
	Verbs, Loses []string
}

// holderOf returns the row of a user, or nil.
func holderOf(ctx context.Context, user string) *accessRow {
	GinkgoHelper()
	var all []accessRow
	Expect(json.Unmarshal([]byte(suite.OnControlPlane(ctx, listAccess+" -o json")), &all)).To(Succeed())
	Expect(all).To(ContainElement(HaveField("Subject", "Group kubeadm:cluster-admins")),
		"the administrators have all rights")
	for i := range all {
		if all[i].Subject == "User "+user {
			return &all[i]
		}
	}
	return nil
}

var _ = Describe("bulkhead kubelet-access", Label(OnHost, OnHardened), func() {
	It("lists users with nodes/proxy, and what strict mode denies them", Denies("KA-EXEC-1"), func(ctx SpecContext) {
		user := suite.Env().NewName("e2e-holder")
		suite.Env().Grant(ctx, user, may("get", "proxy")...)
		Expect(holderOf(ctx, user)).To(
			HaveValue(Equal(accessRow{Subject: "User " + user, Verbs: []string{"get"}, Loses: compatOnly})))
		table := suite.OnControlPlane(ctx, listAccess)
		Expect(strings.Split(table, "\n")).To(
			ContainElement(And(ContainSubstring("User "+user), ContainSubstring(compatOnly[0]))))
	})

	It("lists no loss for a user with the rights to the subresources", Allows("KA-EXEC-1"), func(ctx SpecContext) {
		user := suite.Env().NewName("e2e-holder")
		suite.Env().Grant(ctx, user, append(may("get", "proxy", "containerlogs", "debug", "metrics", "stats", "log"),
			may("create", "exec", "attach", "run", "portforward")...)...)
		Expect(holderOf(ctx, user)).To(
			HaveValue(Equal(accessRow{Subject: "User " + user, Verbs: []string{"get"}, Loses: []string{}})))
	})

	It("does not list a user with another subresource only", Allows("KA-METRICS-1"), func(ctx SpecContext) {
		user := suite.Env().NewName("e2e-holder")
		suite.Env().Grant(ctx, user, may("get", "metrics")...)
		Expect(holderOf(ctx, user)).To(BeNil())
	})
})
