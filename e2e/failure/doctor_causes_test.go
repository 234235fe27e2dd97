// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// goneHost is a control-plane host that does not exist.
	goneHost = "e2e-gone-host"
	// doctorSees bounds the time until doctor reports a problem, or no longer reports it. A mirror pod can
	// be late.
	doctorSees = 2 * time.Minute
)

// cause is a problem that a spec makes, and what doctor says about it.
type cause struct {
	severity doctor.Severity
	// finding is the beginning of what doctor reports, as CHECK: [NAMES]: PROBLEM. repair is the beginning
	// of the remedy.
	finding, repair string
	// begin causes the problem. undo must be idempotent, and must also undo what begin has done only half.
	begin, undo func(context.Context)
	// follow does what the remedy says. It is nil if the remedy is the same as undo.
	follow func(context.Context)
}

// expectFound checks that the problem is the only new finding of its check, with its remedy, and that
// doctor no longer reports it after the repair. The exit code is checked each time.
func expectFound(ctx SpecContext, c cause) {
	GinkgoHelper()
	check, _, _ := strings.Cut(c.finding, ":")
	before, err := findingsOf(ctx, check)
	Expect(err).NotTo(HaveOccurred())
	found := And(HavePrefix(string(c.severity)+" "+c.finding), ContainSubstring("; repair: "+c.repair))
	Expect(before).NotTo(ContainElement(found), "before the problem exists")
	added := func() ([]string, error) {
		now, err := findingsOf(ctx, check)
		return slices.DeleteFunc(now, func(f string) bool { return slices.Contains(before, f) }), err
	}
	expect := func(matcher gomegatypes.GomegaMatcher, when string) {
		GinkgoHelper()
		Eventually(ctx, added).WithTimeout(doctorSees).WithPolling(time.Second).Should(matcher, when)
	}
	DeferCleanup(c.undo, NodeTimeout(doctorSees))
	c.begin(ctx)
	expect(ConsistOf(found), "while the problem exists")
	if c.follow != nil {
		c.follow(ctx)
		expect(BeEmpty(), "after the remedy")
	}
	c.undo(ctx)
	expect(BeEmpty(), "after the repair")
}

// findingsOf returns the findings of one check, each with its severity and its remedy.
func findingsOf(ctx context.Context, check string) ([]string, error) {
	all, err := diagnose(ctx)
	var findings []string
	for _, f := range all {
		if f.Check == check {
			findings = append(findings, fmt.Sprintf("%s %s; repair: %s", f.Severity, problem(f), f.Repair))
		}
	}
	return findings, err
}

// configMapChange changes a ConfigMap in kube-system until its undo. It creates a missing one.
type configMapChange struct {
	name   string
	change func(data map[string]string)
	// before and after are the data around the change.
	before, after map[string]string
	created       bool
}

func (c *configMapChange) begin(ctx context.Context) {
	GinkgoHelper()
	client := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		config, err := client.Get(ctx, c.name, metav1.GetOptions{})
		c.created = apierrors.IsNotFound(err)
		if err != nil && !c.created {
			return err
		}
		c.before, c.after = config.Data, map[string]string{}
		maps.Copy(c.after, c.before)
		c.change(c.after)
		if c.created {
			config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Data: c.after}
			_, err = client.Create(ctx, config, metav1.CreateOptions{})
			return err
		}
		config.Data = c.after
		_, err = client.Update(ctx, config, metav1.UpdateOptions{})
		return err
	})).To(Succeed())
	Expect(c.after).NotTo(Equal(c.before), "the data of ConfigMap %s is the same as before", c.name)
}

// undo reads the ConfigMap again and restores only what the change was about: it keeps what other programs
// have written since.
func (c *configMapChange) undo(ctx context.Context) {
	GinkgoHelper()
	client := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		config, err := client.Get(ctx, c.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && (c.created || c.after == nil) {
			return nil
		}
		if err != nil {
			return err
		}
		data := c.restored(config.Data)
		switch {
		case maps.Equal(data, config.Data):
			return nil
		case c.created && len(data) == 0:
			return client.Delete(ctx, c.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
				UID: &config.UID, ResourceVersion: &config.ResourceVersion}})
		}
		config.Data = data
		_, err = client.Update(ctx, config, metav1.UpdateOptions{})
		return err
	})).To(Succeed())
}

// restored returns the data with the keys as they were that the change has added, changed or removed.
func (c *configMapChange) restored(data map[string]string) map[string]string {
	data = maps.Clone(data)
	for key, value := range c.after {
		if old, existed := c.before[key]; !existed {
			delete(data, key)
		} else if old != value {
			data[key] = old
		}
	}
	return data
}

var _ = Describe("bulkhead doctor finds", Serial, Label(Disruptive, OnHost, OnHardened, Slow),
	AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func() {
		It("the Lease of an installation that was killed, and deletes it with --fix=lease", func(ctx SpecContext) {
			anHourAgo := ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
			lease := &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: hosts.LeaseName},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(goneHost + "/1"), AcquireTime: anHourAgo,
					RenewTime: anHourAgo, LeaseDurationSeconds: ptr.To[int32](600)}}
			expectFound(ctx, cause{severity: doctor.Soon,
				finding: "lease: [" + goneHost + "]: the Lease " + hosts.LeaseName + " of an interrupted run is left over",
				repair:  "run `bulkhead install` on this host again",
				begin:   func(ctx context.Context) { suite.Env().Put(ctx, lease) },
				follow: func(ctx context.Context) {
					Expect(suite.OnControlPlane(ctx, askDoctor+" --fix=lease --yes 2>&1 || test $? = 2")).To(
						ContainSubstring("delete Lease kube-system/" + hosts.LeaseName))
					_, err := suite.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, hosts.LeaseName,
						metav1.GetOptions{})
					Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
				},
				undo: func(ctx context.Context) { suite.Env().Remove(ctx, lease) }})
		})

		It("a right that RBAC gives to all nodes", func(ctx SpecContext) {
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: suite.Env().NewName("e2e-doctor")},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:nodes"}}}
			expectFound(ctx, cause{severity: doctor.Soon, finding: "bindings: []: " + binding.Name + " gives Group",
				repair: "kubectl edit the binding and remove the subject, or delete the binding",
				begin:  func(ctx context.Context) { suite.Env().Put(ctx, binding) },
				undo:   func(ctx context.Context) { suite.Env().Remove(ctx, binding) }})
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
			expectFound(ctx, cause{severity: doctor.Note,
				finding: "scopes: [" + account.Namespace + "/" + account.Name + "]: no pod runs as these accounts",
				repair:  "compare the name with spec.serviceAccountName of these pods",
				begin:   annotate(`"pods"`), undo: annotate("null")})
		})

		It("a line in the list of revoked credentials that revokes nothing", func(ctx SpecContext) {
			change := &configMapChange{name: revocationlist.Name, change: func(data map[string]string) {
				data[revocationlist.IDsKey] += "\nthis is not an ID\n"
			}}
			expectFound(ctx, cause{severity: doctor.Urgent,
				finding: "revocations: []: ConfigMap " + revocationlist.Name + " has lines that revoke nothing",
				repair:  "kubectl -n kube-system edit configmap " + revocationlist.Name,
				begin:   change.begin, undo: change.undo})
		})

		It("a kubeadm-config that would remove Bulkhead at the next upgrade", func(ctx SpecContext) {
			change := &configMapChange{name: "kubeadm-config", change: func(data map[string]string) {
				data["ClusterConfiguration"] = strings.ReplaceAll(data["ClusterConfiguration"], "authorization-config",
					"e2e-other-flag")
			}}
			expectFound(ctx, cause{severity: doctor.Urgent,
				finding: "kubeadm: []: ConfigMap kubeadm-config names only one of Bulkhead's two files",
				repair:  "run `bulkhead install` on one of the hosts again",
				begin:   change.begin, undo: change.undo})
		})

		It("the record of a host that is no longer a control-plane node", func(ctx SpecContext) {
			change := &configMapChange{name: hosts.ConfigMapName, change: func(data map[string]string) {
				data[goneHost] = data[suite.ControlPlane]
			}}
			expectFound(ctx, cause{severity: doctor.Soon,
				finding: "hosts: [" + goneHost + "]: ConfigMap " + hosts.ConfigMapName + " has an entry of this host",
				repair:  "if the host was removed, run `bulkhead install` on another host again",
				begin:   change.begin, undo: change.undo})
		})
	})
