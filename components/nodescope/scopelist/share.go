// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rank orders the accounts of one namespace. It has precedence over their age.
type Rank int

const (
	// Annotated accounts have the annotation themselves.
	Annotated Rank = iota
	// OfPods are accounts without the annotation that have a pod with it.
	OfPods
	// Leaving accounts have no scope any more, but must stay in the lists for now.
	Leaving
)

// Candidate is an account that needs a place in a list.
type Candidate struct {
	Account
	Rank Rank
	// Created is the creation time of the account. It is zero if that is not known.
	Created time.Time
}

// minCost is the minimum cost of an account in its namespace's share. So a share limits the
// number of accounts and the number of characters at once.
const minCost = maxListLength / MaxAccounts

// placed is a candidate with the cost of its namespace up to and including it.
type placed struct {
	Candidate
	used int
}

// Fit returns the accounts that fit into a list, in the order of the list, and the accounts
// that do not fit. The result depends only on the candidates, so every host lists the same
// accounts. An account must not be in candidates twice.
//
// # Shares
//
// kube-system comes first. Each other namespace has a share: the room that kube-system leaves,
// divided by the number of the other namespaces. Accounts within the share of their namespace
// are always listed, whatever other namespaces request. Unused room is divided equally among
// the namespaces that need more.
//
// Within a namespace, accounts with an annotation come before accounts that only have annotated
// pods. Older accounts come before newer ones.
func Fit(candidates []Candidate) (list, overShare []Account) {
	room := maxListLength
	for _, c := range Order(candidates) {
		if len(list) == MaxAccounts || length(c.Account) > room {
			overShare = append(overShare, c.Account)
			continue
		}
		room -= length(c.Account)
		list = append(list, c.Account)
	}
	slices.SortFunc(list, Compare)
	slices.SortFunc(overShare, Compare)
	return list, overShare
}

// Order returns the candidates in the order in which they get a place. The namespaces take
// turns, so that one namespace with many accounts does not delay the others. candidates is not
// modified.
func Order(candidates []Candidate) []Candidate {
	sorted := slices.SortedFunc(slices.Values(candidates), compareInNamespace)
	used := map[string]int{}
	all := make([]placed, 0, len(sorted))
	for _, c := range sorted {
		used[c.Namespace] += max(length(c.Account), minCost)
		all = append(all, placed{c, used[c.Namespace]})
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(
			cmp.Compare(isOther(a.Namespace), isOther(b.Namespace)),
			cmp.Compare(a.used, b.used),
			compareInNamespace(a.Candidate, b.Candidate),
		)
	})
	for i, p := range all {
		sorted[i] = p.Candidate
	}
	return sorted
}

func isOther(namespace string) int {
	if namespace == metav1.NamespaceSystem {
		return 0
	}
	return 1
}

// compareInNamespace treats an account of unknown age as the newest.
func compareInNamespace(a, b Candidate) int {
	return cmp.Or(
		cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(unknownAge(a), unknownAge(b)),
		a.Created.Compare(b.Created),
		Compare(a.Account, b.Account),
	)
}

func unknownAge(c Candidate) int {
	if c.Created.IsZero() {
		return 1
	}
	return 0
}
