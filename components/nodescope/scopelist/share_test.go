// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// candidates returns n accounts of a namespace, with names of that length. The first is the
// oldest.
func candidates(namespace string, n, length int) []Candidate {
	all := make([]Candidate, n)
	for i := range all {
		name := fmt.Sprintf("%05d", n-i)
		all[i] = Candidate{
			Account: Account{Namespace: namespace, Name: strings.Repeat("a", max(0, length-len(name))) + name},
			Created: time.Unix(int64(1000+i), 0),
		}
	}
	return all
}

func listedOf(namespace string, list []Account) int {
	n := 0
	for _, account := range list {
		if account.Namespace == namespace {
			n++
		}
	}
	return n
}

func TestFitListIntoShares(t *testing.T) {
	type of struct {
		namespace string
		n, length int
	}
	const long = 249
	for _, tc := range []struct {
		name string
		all  []of
		want map[string]int
	}{
		{"one namespace fills the list", []of{{"a", 1000, 10}}, map[string]int{"a": 1000}},
		{"one namespace with one more", []of{{"a", 1001, 10}}, map[string]int{"a": 1000}},
		{"a namespace that is first in the alphabet takes no more than the rest",
			[]of{{"a", 5000, 10}, {"b", 1, 10}, {"z", 30, 10}}, map[string]int{"a": 969, "b": 1, "z": 30}},
		{"two namespaces that both want all", []of{{"a", 5000, 10}, {"b", 5000, 10}}, map[string]int{"a": 500, "b": 500}},
		{"kube-system comes first", []of{{"a", 5000, 10}, {"kube-system", 900, 10}},
			map[string]int{"a": 100, "kube-system": 900}},
		{"long names take more of their own share", []of{{"a", 5000, long}, {"b", 500, 10}},
			map[string]int{"a": 283, "b": 500}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var all []Candidate
			for _, of := range tc.all {
				all = append(all, candidates(of.namespace, of.n, of.length)...)
			}
			list, overShare := Fit(all)
			if len(list)+len(overShare) != len(all) || !slices.IsSortedFunc(list, Compare) ||
				!slices.IsSortedFunc(overShare, Compare) {
				t.Errorf("%d listed and %d beyond of %d, not in order", len(list), len(overShare), len(all))
			}
			got := map[string]int{}
			for namespace := range tc.want {
				got[namespace] = listedOf(namespace, list)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Within a namespace, an older account comes before a newer one. An account with an annotation
// comes before one that only has annotated pods.
func TestFitWithinANamespace(t *testing.T) {
	old := Candidate{Account: Account{Namespace: "a", Name: "z"}, Created: time.Unix(1, 0)}
	ofPods, leaving, unknown := old, old, old
	ofPods.Name, ofPods.Rank = "of-pods", OfPods
	leaving.Name, leaving.Rank = "leaving", Leaving
	unknown.Name, unknown.Created = "unknown", time.Time{}
	newer := candidates("a", MaxAccounts-1, 5)
	for _, tc := range []struct {
		name   string
		one    Candidate
		listed bool
	}{
		{"older than all", old, true}, {"older, by its pods only", ofPods, false},
		{"older, about to leave", leaving, false}, {"of unknown age", unknown, false},
	} {
		// One place is left, and two accounts need it.
		all := append(slices.Clone(newer), tc.one, candidates("a", MaxAccounts, 5)[0])
		all[len(all)-1].Name, all[len(all)-1].Created = "last", time.Unix(9999, 0)
		list, overShare := Fit(all)
		if got := slices.Contains(list, tc.one.Account); got != tc.listed || len(overShare) != 1 {
			t.Errorf("%s: listed: %v, want %v; beyond: %v", tc.name, got, tc.listed, overShare)
		}
	}
}

// dice returns a random cluster with these namespaces.
func dice(rng *rand.Rand, namespaces ...string) []Candidate {
	var all []Candidate
	for _, namespace := range namespaces {
		some := candidates(namespace, rng.IntN(1500), 5+rng.IntN(240))
		for i := range some {
			some[i].Rank = Rank(rng.IntN(3))
			some[i].Created = time.Unix(rng.Int64N(5), 0)
		}
		all = append(all, some...)
	}
	return all
}

// An account within the share of its namespace is always listed, whatever other namespaces
// request. An account in kube-system is listed if it would be listed without the other
// namespaces.
func TestAccountsWithinTheShareAreListed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	others := []string{"0", "b", "zz", strings.Repeat("n", 63)}
	for range 50 {
		mine := dice(rng, "a")
		system := dice(rng, "kube-system")
		all := slices.Concat(dice(rng, others...), mine, system)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		list, overShare := Fit(all)

		left := 0
		alone, _ := Fit(system)
		for _, account := range alone {
			if !slices.Contains(list, account) {
				t.Fatalf("%v is not listed, and is without the others", account)
			}
			left += max(length(account), minCost)
		}
		share := (maxListLength - left) / (len(others) + 1)
		for _, c := range Order(mine) {
			if share -= max(length(c.Account), minCost); share < 0 {
				break
			}
			if slices.Contains(overShare, c.Account) {
				t.Fatalf("%v is within its namespace's share and not listed", c.Account)
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		again, _ := Fit(all)
		if !slices.Equal(list, again) {
			t.Fatal("another order of the same accounts makes another list")
		}
		if _, err := inOrder(list); err != nil {
			t.Fatal(err)
		}
	}
}
