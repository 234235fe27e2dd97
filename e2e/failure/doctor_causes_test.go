// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// goneHost is a control-plane host that does not exist.
const goneHost = "e2e-gone-host"

// cause is a problem that an administrator can make in the API, and what doctor says about it.
type cause struct {
	severity doctor.Severity
	finding  string
	// begin causes the problem. undo must be idempotent.
	begin, undo func(context.Context)
}

// expectFound checks that doctor reports the problem only while it exists.
func expectFound(ctx SpecContext, c cause) {
	GinkgoHelper()
	reported := func() []string { return examineAll(ctx)[c.severity] }
	found := ContainElement(HavePrefix(c.finding))
	Expect(reported()).NotTo(found)
	DeferCleanup(c.undo)
	c.begin(ctx)
	Eventually(ctx, reported).WithTimeout(time.Minute).WithPolling(time.Second).Should(found)
	c.undo(ctx)
	Eventually(ctx, reported).WithTimeout(time.Minute).WithPolling(time.Second).ShouldNot(found)
}

// changeConfigMap changes a ConfigMap in kube-system until the undo. It creates a missing one.
func changeConfigMap(name string, change func(data map[string]string)) (begin, undo func(context.Context)) {
	client := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	var before *corev1.ConfigMap
	changed := false
	begin = func(ctx context.Context) {
		GinkgoHelper()
		have, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			changed = true
			have = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{}}
			change(have.Data)
			Expect(client.Create(ctx, have, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
			return
		}
		Expect(err).NotTo(HaveOccurred())
		before, changed = have.DeepCopy(), true
		if have.Data == nil {
			have.Data = map[string]string{}
		}
		change(have.Data)
		Expect(client.Update(ctx, have, metav1.UpdateOptions{})).Error().NotTo(HaveOccurred())
	}
	undo = func(ctx context.Context) {
		GinkgoHelper()
		if !changed {
			return
		}
		changed = false
		if before == nil {
			Expect(client.Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
			return
		}
		before.ResourceVersion = ""
		Expect(client.Update(ctx, before, metav1.UpdateOptions{})).Error().NotTo(HaveOccurred())
	}
	return begin, undo
}

var _ = Describe("bulkhead doctor finds", Serial, Label(Disruptive, OnHost, OnHardened),
	AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func() {
		It("the Lease of an installation that was killed, and deletes it with --fix=lease", func(ctx SpecContext) {
			leases := suite.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
			anHourAgo := ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
			expectFound(ctx, cause{doctor.Soon,
				"lease: [" + goneHost + "]: the Lease " + hosts.LeaseName + " of an interrupted run is left over",
				func(ctx context.Context) {
					suite.Env().Put(ctx, &coordinationv1.Lease{
						ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: hosts.LeaseName},
						Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(goneHost + "/1"), AcquireTime: anHourAgo,
							RenewTime: anHourAgo, LeaseDurationSeconds: ptr.To[int32](600)}})
				},
				func(ctx context.Context) {
					suite.OnControlPlane(ctx, askDoctor+" --fix=lease --yes 2>&1 || test $? = 2")
					_, err := leases.Get(ctx, hosts.LeaseName, metav1.GetOptions{})
					Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
				}})
		})

		It("a right that RBAC gives to all nodes", func(ctx SpecContext) {
			name := suite.Env().NewName("e2e-doctor")
			expectFound(ctx, cause{doctor.Soon, "bindings: []: " + name + " gives Group",
				func(ctx context.Context) {
					suite.Env().Put(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
						RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
						Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:nodes"}}})
				},
				func(ctx context.Context) {
					err := suite.Client.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})
					Expect(err).To(Or(BeNil(), MatchError(apierrors.IsNotFound, "IsNotFound")))
				}})
		})

		It("an account with a node scope that no pod runs as", func(ctx SpecContext) {
			env := suite.Env()
			account := fixtures.ServiceAccount(env.Namespace(ctx), env.NewName("account"))
			annotate := func(value string) func(context.Context) {
				return func(ctx context.Context) {
					GinkgoHelper()
					patch := `{"metadata":{"annotations":{"` + nodescope.ScopeAnnotation + `":` + value + `}}}`
					Expect(suite.Client.CoreV1().ServiceAccounts(account.Namespace).Patch(ctx, account.Name, types.MergePatchType,
						[]byte(patch), metav1.PatchOptions{})).Error().NotTo(HaveOccurred())
				}
			}
			env.Put(ctx, account)
			expectFound(ctx, cause{doctor.Note, "scopes: [" + account.Namespace + "/" + account.Name +
				"]: no pod runs as these accounts", annotate(`"pods"`), annotate("null")})
		})

		It("a line in the list of revoked credentials that revokes nothing", func(ctx SpecContext) {
			begin, undo := changeConfigMap(revocationlist.Name, func(data map[string]string) {
				data[revocationlist.IDsKey] += "\nthis is not an ID\n"
			})
			expectFound(ctx, cause{doctor.Urgent, "revocations: []: ConfigMap " + revocationlist.Name +
				" has lines that revoke nothing", begin, undo})
		})

		It("a kubeadm-config that would remove Bulkhead at the next upgrade", func(ctx SpecContext) {
			begin, undo := changeConfigMap("kubeadm-config", func(data map[string]string) {
				data["ClusterConfiguration"] = strings.ReplaceAll(data["ClusterConfiguration"], "authorization-config",
					"e2e-other-flag")
			})
			expectFound(ctx, cause{doctor.Urgent,
				"kubeadm: []: ConfigMap kubeadm-config names only one of Bulkhead's two files", begin, undo})
		})

		It("the record of a host that is no control-plane node any more", func(ctx SpecContext) {
			begin, undo := changeConfigMap(hosts.ConfigMapName, func(data map[string]string) {
				data[goneHost] = data[suite.ControlPlane]
			})
			expectFound(ctx, cause{doctor.Soon, "hosts: [" + goneHost + "]: ConfigMap " + hosts.ConfigMapName +
				" has an entry of this host", begin, undo})
		})
	})
