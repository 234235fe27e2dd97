// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rank orders the accounts of one namespace before their age does.
type Rank int

const (
	// Annotated accounts have the annotation themselves.
	Annotated Rank = iota
	// OfPods are accounts that only an annotated pod runs as.
	OfPods
	// Leaving accounts have no scope any more, and must stay in the lists for now.
	Leaving
)

// Candidate is an account that wants a place in a list.
type Candidate struct {
	Account
	Rank Rank
	// Created is when the API server created the account; zero if that is not known.
	Created time.Time
}

// minCost is what each account takes of its namespace's share at least, so that a share
// bounds the number of accounts and the characters at once.
const minCost = maxListLength / MaxAccounts

// placed is a candidate with what its namespace has used up to and with it.
type placed struct {
	Candidate
	used int
}

// Fit returns the accounts that a list has room for, in the order of a list, and the
// accounts that it has no room for. It depends on nothing but the candidates, so every
// host lists the same accounts. No account may be there twice.
//
// # Shares
//
// kube-system comes first. Each other namespace has a share: the room that kube-system
// leaves, divided by the number of the other namespaces. Accounts within their namespace's
// share are always listed, whatever other namespaces ask for. Room that a namespace does
// not use goes to those that want more, equally.
//
// Within a namespace, accounts with an annotation come before those that only their pods
// have one for, and older accounts come before newer ones.
func Fit(candidates []Candidate) (list, beyond []Account) {
	room := maxListLength
	for _, c := range Order(candidates) {
		if len(list) == MaxAccounts || length(c.Account) > room {
			beyond = append(beyond, c.Account)
			continue
		}
		room -= length(c.Account)
		list = append(list, c.Account)
	}
	slices.SortFunc(list, Compare)
	slices.SortFunc(beyond, Compare)
	return list, beyond
}

// Order returns the candidates in the order in which they get a place: each namespace in
// its turn, so that none waits for all that another one wants. candidates is not changed.
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

// compareInNamespace takes an account of unknown age for the newest.
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
