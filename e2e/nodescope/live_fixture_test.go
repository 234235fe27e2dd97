// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// stateOfLists is the config map in kube-system where scope-sync records which accounts are
	// live, for each control-plane host.
	stateOfLists = "bulkhead-node-scope"
	// listed bounds the time until both lists with a new annotated account are in force.
	listed = 3 * time.Minute
	// bothLists is the state of an account whose scope is in force.
	bothLists = "live"
)

// recorded is scope-sync's record for one host: names by state and by namespace.
type recorded struct {
	Problem  string                         `json:"problem"`
	Accounts map[string]map[string][]string `json:"accounts"`
}

// records returns the records of all hosts, by host name.
func records(ctx context.Context) (map[string]recorded, error) {
	config, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, stateOfLists, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading which accounts are live: %w", err)
	}
	all := map[string]recorded{}
	for host, text := range config.Data {
		r := recorded{}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, fmt.Errorf("reading which accounts are live on %s: %w", host, err)
		}
		all[host] = r
	}
	return all, nil
}

// pending returns the accounts of a namespace that are not live on every host.
func pending(ctx context.Context, namespace string, accounts ...string) ([]string, error) {
	all, err := records(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return accounts, nil
	}
	var waiting []string
	for host, r := range all {
		for _, account := range accounts {
			if !slices.Contains(r.Accounts[bothLists][namespace], account) {
				waiting = append(waiting, account+" on "+host+" "+r.Problem)
			}
		}
	}
	return waiting, nil
}

// expectLive expects that the scopes of accounts which were live still are. The records may be late
// while scope-sync handles many accounts.
func expectLive(ctx context.Context, namespace string, accounts ...string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) { return pending(ctx, namespace, accounts...) }).WithTimeout(Soon).
		WithPolling(time.Second).Should(BeEmpty())
}

// awaitLive waits until the scopes of these accounts of the stage are in force. It makes no request
// that could be denied. Before that time, scope-sync reports an account as pending.
func awaitLive(ctx context.Context, accounts ...string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) { return pending(ctx, stage.Namespace, accounts...) }).
		WithTimeout(listed).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}
