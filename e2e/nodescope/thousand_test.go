// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// accountCount is the number of accounts that the lists can hold.
	accountCount = 1000
	// listedMany bounds the time until so many accounts are live.
	listedMany = 2 * time.Minute
	// written bounds the time until all their events and records are written. slack is the extra
	// time of a request on a busy machine.
	written = 2 * time.Minute
	slack   = 5 * time.Millisecond
	atOnce  = 8
)

// Serial: the spec needs the whole machine, and all entries of the lists.
var _ = Describe("a thousand accounts", Serial, Label(OnHost, Slow), func() {
	It("are all limited by their scopes, and do not slow down other requests", Denies("NS-IDENT-2"), SlowSpec,
		func(ctx SpecContext) {
			TakeMachine(ctx)
			env := suite.Env()
			namespace := env.Namespace(ctx)
			// Accounts of earlier specs leave the lists shortly after their deletion.
			Eventually(ctx, func() int { return len(listedNow(ctx)) }).WithTimeout(written).WithPolling(time.Second).
				Should(BeNumerically("<", accountCount/2), "the lists are full already")
			names := make([]string, accountCount-len(listedNow(ctx)))
			for i := range names {
				names[i] = fmt.Sprintf("account-%d", i)
			}
			request := List(api.Services).In("default")
			before := repeatFor(ctx, podOf(plain)(), request, 3*time.Second)
			since := time.Now()
			makeAccounts(ctx, namespace, names)
			Eventually(ctx, func() (int, error) {
				waiting, err := pending(ctx, namespace, names...)
				return len(waiting), err
			}).WithTimeout(listedMany).WithPolling(time.Second).Should(BeZero())
			Measured(fmt.Sprintf("%d more accounts with a scope were live after", len(names)),
				time.Since(since).Round(100*time.Millisecond).String())
			Measured("accounts with a scope in the lists then", fmt.Sprint(len(listedNow(ctx))))

			Measured("an account without a scope before there were a thousand", Latencies(before))
			while := repeatFor(ctx, podOf(plain)(), request, 3*time.Second)
			Measured("an account without a scope while a thousand become known", Latencies(while))
			Expect(median(while)).To(BeNumerically("<", sent))
			// The API server is still busy with the events and records of these accounts. The cost of a
			// full list is what remains after that.
			var after []time.Duration
			Eventually(ctx, func() time.Duration {
				after = repeatFor(ctx, podOf(plain)(), request, 3*time.Second)
				return middle(after)
			}).WithTimeout(written).Should(BeNumerically("<", 2*middle(before)+slack))
			Measured("an account without a scope beside a thousand",
				fmt.Sprintf("%s, %s after the first was made", Latencies(after), time.Since(since).Round(time.Second)))
			group := "system:serviceaccounts:" + namespace
			for _, i := range []int{0, len(names) / 2, len(names) - 1} {
				who := suite.AsForged(Bearer{User: "system:serviceaccount:" + namespace + ":" + names[i], Groups: []string{group}})
				suite.ExpectForbidden(ctx, who, List(api.Pods), "NS-IDENT-2", "names no pod")
			}
			decide(ctx, forged(withExtra(podUID)), otherPods, "incomplete")
		})
})

// middle is the median.
func middle(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

func makeAccounts(ctx context.Context, namespace string, names []string) {
	GinkgoHelper()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range names {
		account := fixtures.ServiceAccount(namespace, name)
		account.Annotations = scope("pods")
		group.Go(func() error {
			_, err := suite.Client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
			return err
		})
	}
	Expect(group.Wait()).To(Succeed())
}

// listedNow returns the accounts that scope-sync knows on the control plane, in any state.
func listedNow(ctx context.Context) []string {
	GinkgoHelper()
	var all []string
	for _, namespaces := range must(records(ctx))[suite.ControlPlane].Accounts {
		for namespace, names := range namespaces {
			for _, name := range names {
				all = append(all, namespace+"/"+name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
