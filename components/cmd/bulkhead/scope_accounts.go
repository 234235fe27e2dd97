// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// atOnce limits the objects in one list request.
const atOnce = 500

// scopedAccount is a row of the table.
type scopedAccount struct {
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
	Resources      string `json:"resources"`
	Mode           string `json:"mode"`
	Authorization  string `json:"authorization"`
	Admission      string `json:"admission"`
	// OlderPods is the number of pods that were created before the scope became live. It is null
	// while the scope is not live.
	OlderPods *int `json:"olderPods"`
	// Unused is true if the account is annotated and no pod runs as it. The name may be wrong.
	Unused bool `json:"unused,omitempty"`
}

// annotations are the scope annotations of an account and of its pods.
type annotations struct {
	own, mode string
	has       bool
	ofPods    map[string]bool
	// digest is the digest of the account's own annotations.
	digest string
}

// current returns the digest of the current annotations of the account and its pods.
func (a *annotations) current() string {
	pods := map[string]struct{}{}
	for value := range a.ofPods {
		pods[scopelist.DigestOfPod(value)] = struct{}{}
	}
	return scopelist.Digest(a.digest, pods)
}

// scopeAccounts returns the accounts that have an annotation or that a host reports.
func scopeAccounts(ctx context.Context, client kubernetes.Interface, hosts []scopeHost) ([]scopedAccount, error) {
	all := map[scopelist.Account]*annotations{}
	at := func(namespace, name string) *annotations {
		account := scopelist.Account{Namespace: namespace, Name: name}
		if all[account] == nil {
			all[account] = &annotations{ofPods: map[string]bool{}}
		}
		return all[account]
	}
	for _, host := range hosts {
		for account := range host.states {
			at(account.Namespace, account.Name)
		}
	}
	if err := readAccounts(ctx, client, at, all); err != nil {
		return nil, err
	}
	created, err := readPods(ctx, client, at)
	if err != nil {
		return nil, err
	}
	rows := []scopedAccount{}
	for _, account := range slices.SortedFunc(maps.Keys(all), scopelist.Compare) {
		live, since := stateEverywhere(account, all[account].current(), hosts)
		rows = append(rows, scopedAccount{
			Namespace: account.Namespace, ServiceAccount: account.Name, Resources: all[account].resources(),
			Mode:          all[account].modeInForce(),
			Authorization: liveOrPending(live.Authorization), Admission: liveOrPending(live.Admission),
			OlderPods: olderThan(since, created[account]),
			Unused:    all[account].has && len(created[account]) == 0,
		})
	}
	return rows, nil
}

func readAccounts(ctx context.Context, client kubernetes.Interface, at func(namespace, name string) *annotations,
	reported map[scopelist.Account]*annotations) error {
	options := metav1.ListOptions{Limit: atOnce}
	for {
		list, err := client.CoreV1().ServiceAccounts(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return fmt.Errorf("cannot list ServiceAccounts: %w", err)
		}
		for i := range list.Items {
			sa := &list.Items[i]
			own, has := sa.Annotations[nodescope.ScopeAnnotation]
			if !has && reported[scopelist.Account{Namespace: sa.Namespace, Name: sa.Name}] == nil {
				continue
			}
			a := at(sa.Namespace, sa.Name)
			a.digest = scopelist.DigestOfAccount(sa.Annotations)
			a.own, a.has, a.mode = own, has, sa.Annotations[nodescope.ModeAnnotation]
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// readPods reads the annotations of pods. It also returns, by account, the creation times of all
// pods that may still run.
func readPods(
	ctx context.Context, client kubernetes.Interface, at func(namespace, name string) *annotations,
) (map[scopelist.Account][]time.Time, error) {
	created := map[scopelist.Account][]time.Time{}
	options := metav1.ListOptions{Limit: atOnce}
	for {
		list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("cannot list pods: %w", err)
		}
		for i := range list.Items {
			pod := &list.Items[i]
			if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || pod.Spec.ServiceAccountName == "" {
				continue
			}
			if value, has := pod.Annotations[nodescope.ScopeAnnotation]; has {
				at(pod.Namespace, pod.Spec.ServiceAccountName).ofPods[value] = true
			}
			if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
				account := scopelist.Account{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}
				created[account] = append(created[account], pod.CreationTimestamp.Time)
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return created, nil
		}
	}
}

// olderThan counts the pods that were created at or before since. The API server authorizes a watch
// only when it begins. So a watch of an older pod can continue without the scope.
func olderThan(since time.Time, created []time.Time) *int {
	if since.IsZero() {
		return nil
	}
	n := 0
	for _, at := range created {
		if !at.After(since) {
			n++
		}
	}
	return &n
}

func (a *annotations) resources() string {
	var parts []string
	if a.has {
		parts = append(parts, describeScope(a.own))
	}
	for _, value := range slices.Sorted(maps.Keys(a.ofPods)) {
		parts = append(parts, "pods: "+describeScope(value))
	}
	if len(parts) == 0 {
		return "none any more"
	}
	return strings.Join(parts, "; ")
}

// describeScope returns the effective value of an annotation.
func describeScope(value string) string {
	if _, err := nodescope.ParseScope(value); err != nil {
		return "* (cannot be read)"
	}
	if text := strings.Join(strings.Fields(value), ""); text != "" {
		return text
	}
	return "none"
}

func (a *annotations) modeInForce() string {
	if audits, err := nodescope.ParseMode(a.mode); err == nil && audits {
		return rules.Audit.String()
	}
	return rules.Enforce.String()
}
