// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// quietFor is the age at which a host's report is too old. A host reports every five minutes.
const quietFor = 15 * time.Minute

// errNoNodeScope is returned for a cluster without node scope.
var errNoNodeScope = errors.New("node scope is not installed in this cluster")

// scopeHost is a control-plane node with the report of its scope-sync.
type scopeHost struct {
	Node    string    `json:"node"`
	Heard   time.Time `json:"heard,omitzero"`
	Problem string    `json:"problem,omitempty"`
	states  map[scopelist.Account]scopelist.State
	details map[scopelist.Account]scopelist.Detail
}

// scopeHosts returns all control-plane nodes. If a host has no recent report, all its accounts are
// pending, because their state is unknown.
func scopeHosts(ctx context.Context, client kubernetes.Interface, now time.Time) ([]scopeHost, error) {
	records, err := client.CoreV1().ConfigMaps(scopelist.RecordsNamespace).Get(ctx, scopelist.RecordsName,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: cannot find ConfigMap %s/%s", errNoNodeScope,
			scopelist.RecordsNamespace, scopelist.RecordsName)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of scope-sync: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx,
		metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane"})
	if err != nil {
		return nil, fmt.Errorf("cannot list the control-plane nodes: %w", err)
	}
	names := map[string]bool{}
	for i := range nodes.Items {
		names[nodes.Items[i].Name] = true
	}
	if len(names) == 0 {
		for name := range records.Data {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no scope-sync has written its state to ConfigMap %s/%s", errNoNodeScope,
			scopelist.RecordsNamespace, scopelist.RecordsName)
	}
	var hosts []scopeHost
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text, found := records.Data[name]
		hosts = append(hosts, scopeHostOf(name, text, found, now))
	}
	return hosts, nil
}

func scopeHostOf(name, text string, found bool, now time.Time) scopeHost {
	host := scopeHost{Node: name}
	if !found {
		host.Problem = "its scope-sync has written no state: it is unknown whether the API server there limits accounts"
		return host
	}
	record, err := scopelist.DecodeRecord(text)
	if err != nil {
		host.Problem = err.Error()
		return host
	}
	host.Heard, host.Problem = record.Time, record.Problem
	if quiet := now.Sub(record.Time); quiet > quietFor {
		host.Problem = fmt.Sprintf(
			"its scope-sync last wrote its state %v ago: that state is not counted, the lists stay in force",
			quiet.Round(time.Minute))
		return host
	}
	if record.Omitted > 0 {
		host.Problem = strings.TrimPrefix(
			fmt.Sprintf("%s; the state has no space for %d accounts, which are shown as pending", host.Problem,
				record.Omitted), "; ")
	}
	host.states, host.details = record.Accounts, record.Details
	return host
}

// stateEverywhere reports what is live on every host. A report counts only if it is for the
// annotations with this digest. since is the time from which authorization and admission are live
// on every host. It is zero if they are not.
func stateEverywhere(
	account scopelist.Account, digest string, hosts []scopeHost,
) (live scopelist.State, since time.Time) {
	live = scopelist.State{Authorization: true, Admission: true}
	for _, host := range hosts {
		state, detail := host.states[account], host.details[account]
		current := detail.Digest == digest
		live.Authorization = live.Authorization && current && state.Authorization
		live.Admission = live.Admission && current && state.Admission
		if detail.Since.After(since) {
			since = detail.Since
		}
	}
	if !live.Authorization || !live.Admission {
		since = time.Time{}
	}
	return live, since
}

func liveOrPending(live bool) string {
	if live {
		return "live"
	}
	return "pending"
}
