// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// wanted is the number of accounts that the tenant annotates. It is more than the lists can
	// hold.
	wanted = 1100
	// newAccounts is the number of accounts of another namespace whose time is measured, before and
	// during the excess.
	newAccounts = 5
	// beyondShare is the reason of the event for an account beyond the namespace's share.
	beyondShare = "NodeScopeBeyondShare"
)

// Serial: the spec needs the whole machine, and all entries of the lists.
var _ = Describe("a tenant with edit annotates more accounts than its share", Serial,
	Label(OnHost, OnWorker, Slow), func() {
		It("other namespaces and kube-system keep their shares", Denies("NS-IDENT-2"), SlowSpec, func(ctx SpecContext) {
			TakeMachine(ctx)
			namespace := suite.Env().Namespace(ctx)
			client := must(tenantWithEdit(ctx, namespace).Client())
			request := bystander(own, Get(api.Secrets))(ctx, suite.Env())
			before := repeatFor(ctx, podOf(agent)(), request, 5*time.Second)
			protectedBefore := timeNewAccounts(ctx, "before")

			since := time.Now()
			annotateMany(ctx, client, namespace)
			Measured(fmt.Sprintf("a tenant annotated %d accounts in", wanted), time.Since(since).Round(time.Second).String())
			while := repeatFor(ctx, podOf(agent)(), request, 5*time.Second)
			protectedWhile := timeNewAccounts(ctx, "while")
			Measured("another tenant's requests, before one tenant used all it can get", Latencies(before))
			Measured("another tenant's requests, while one tenant uses all it can get", Latencies(while))
			Measured("another tenant's new account was protected after, before one tenant used all it can get",
				Latencies(protectedBefore))
			Measured("another tenant's new account was protected after, while one tenant uses all it can get",
				Latencies(protectedWhile))

			late := suite.AsForged(
				Bearer{User: "system:serviceaccount:" + stage.Namespace + ":while-0",
					Groups: []string{"system:serviceaccounts:" + stage.Namespace}})
			suite.ExpectForbidden(ctx, late, List(api.Pods), "NS-IDENT-2", "names no pod")
			expectLive(ctx, metav1.NamespaceSystem, "kube-proxy")
			expectLive(ctx, stage.Namespace, annotated...)
			expectTheExcessIsReported(ctx, namespace)
		})
	})

// tenantWithEdit returns the identity of a pod's token, read from its node's disk. The pod's
// account has the ClusterRole edit in the namespace, and no other right.
func tenantWithEdit(ctx context.Context, namespace string) *Identity {
	GinkgoHelper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: fixtures.Account}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	pod := fixtures.Pod(namespace, "tenant", suite.Worker, fixtures.WithAccount)
	suite.Env().Put(ctx, binding, pod)
	Eventually(ctx, func() (corev1.PodPhase, error) {
		now, err := suite.Client.CoreV1().Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return now.Status.Phase, nil
	}).WithTimeout(2 * PodStart).WithPolling(500 * time.Millisecond).Should(Equal(corev1.PodRunning))
	found := must(suite.Host.Run(ctx, suite.Worker, "set -- "+string(pod.UID)+"\n"+tokensOnDisk))
	_, token, _ := strings.Cut(strings.TrimSpace(found), " ")
	return suite.AsBearer(must(suite.ReadToken(ctx, token)))
}

// annotateMany gives each account a different value, so that the values exceed the namespace's
// share, too.
func annotateMany(ctx context.Context, client kubernetes.Interface, namespace string) {
	GinkgoHelper()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range wanted {
		account := fixtures.ServiceAccount(namespace, fmt.Sprintf("many-%04d", i))
		account.Annotations = scope(fmt.Sprintf("pods, r%d", i))
		group.Go(func() error {
			_, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
			return err
		})
	}
	Expect(group.Wait()).To(Succeed())
}

// timeNewAccounts annotates accounts of the stage's namespace one after another. It returns the
// time until each was live.
func timeNewAccounts(ctx context.Context, prefix string) []time.Duration {
	GinkgoHelper()
	var took []time.Duration
	for i := range newAccounts {
		account := fixtures.ServiceAccount(stage.Namespace, fmt.Sprintf("%s-%d", prefix, i))
		account.Annotations = scope("pods")
		DeferCleanup(func(ctx context.Context) error { return suite.Objects.Delete(ctx, account) })
		begun := time.Now()
		Expect(suite.Objects.Create(ctx, account)).To(Succeed())
		awaitLive(ctx, account.Name)
		took = append(took, time.Since(begun))
	}
	return took
}

// expectTheExcessIsReported expects metrics, events on accounts, and that an account with such an
// event is reported as pending. An account that exceeds only the share of values is live, and
// limited on all resources.
func expectTheExcessIsReported(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		events, err := suite.Client.CoreV1().Events(namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "reason=" + beyondShare})
		if err != nil {
			return nil, err
		}
		var accounts []string
		for i := range events.Items {
			if e := &events.Items[i]; e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == "ServiceAccount" {
				accounts = append(accounts, e.InvolvedObject.Name)
			}
		}
		return pending(ctx, namespace, accounts...)
	}).WithTimeout(2 * time.Minute).WithPolling(time.Second).ShouldNot(BeEmpty())
	for _, reason := range []string{"list", "values"} {
		Eventually(ctx, func() (float64, error) {
			return suite.ComponentMetric(ctx, "bulkhead_node_scope_beyond_share", `reason="`+reason+`"`)
		}).WithTimeout(Soon).WithPolling(time.Second).Should(BeNumerically(">", 0), reason)
	}
	// A tenant must not be able to make scope-sync unready, because that would stop an upgrade.
	// A probe may have failed on the busy machine.
	Eventually(ctx, scopeSyncsReady).WithTimeout(Soon).WithPolling(time.Second).Should(
		And(Not(BeEmpty()), HaveEach(BeTrue())))
}

// scopeSyncsReady returns whether each pod of scope-sync is Ready, by name.
func scopeSyncsReady(ctx context.Context) (map[string]bool, error) {
	pods, err := suite.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=scope-sync"})
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for i := range pods.Items {
		all[pods.Items[i].Name] = slices.ContainsFunc(pods.Items[i].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}
	return all, nil
}
