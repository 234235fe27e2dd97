// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

type attributes = authorizer.AttributesRecord

func who(change func(*user.DefaultInfo)) func(*attributes) {
	return func(r *attributes) {
		info := &user.DefaultInfo{Name: "u", UID: "1", Groups: []string{"g", "h"}, Extra: map[string][]string{"k": {"v"}}}
		change(info)
		r.User = info
	}
}

// No two of these requests share an answer. For example, two groups differ from one group whose
// name looks like both.
func TestEveryDifferenceIsAnotherQuestion(t *testing.T) {
	rows := map[string]func(*attributes){
		"nothing":                   func(*attributes) {},
		"user":                      who(func(u *user.DefaultInfo) { u.Name = "v" }),
		"no user":                   func(r *attributes) { r.User = nil },
		"an empty user":             func(r *attributes) { r.User = &user.DefaultInfo{} },
		"UID":                       who(func(u *user.DefaultInfo) { u.UID = "2" }),
		"user and UID, moved":       who(func(u *user.DefaultInfo) { u.Name, u.UID = "u1", "" }),
		"no groups":                 who(func(u *user.DefaultInfo) { u.Groups = nil }),
		"one group less":            who(func(u *user.DefaultInfo) { u.Groups = []string{"g"} }),
		"one group more":            who(func(u *user.DefaultInfo) { u.Groups = []string{"g", "h", "system:masters"} }),
		"groups in another order":   who(func(u *user.DefaultInfo) { u.Groups = []string{"h", "g"} }),
		"groups in one":             who(func(u *user.DefaultInfo) { u.Groups = []string{"gh"} }),
		"groups in one, by a bar":   who(func(u *user.DefaultInfo) { u.Groups = []string{"g|h"} }),
		"groups in one, by a comma": who(func(u *user.DefaultInfo) { u.Groups = []string{"g,h"} }),
		"an empty group":            who(func(u *user.DefaultInfo) { u.Groups = []string{"g", "h", ""} }),
		"no extra":                  who(func(u *user.DefaultInfo) { u.Extra = nil }),
		"another key":               who(func(u *user.DefaultInfo) { u.Extra = map[string][]string{"l": {"v"}} }),
		"another value":             who(func(u *user.DefaultInfo) { u.Extra = map[string][]string{"k": {"w"}} }),
		"two values":                who(func(u *user.DefaultInfo) { u.Extra = map[string][]string{"k": {"v", "w"}} }),
		"no value":                  who(func(u *user.DefaultInfo) { u.Extra = map[string][]string{"k": nil} }),
		"two keys":                  who(func(u *user.DefaultInfo) { u.Extra = map[string][]string{"k": {"v"}, "l": {"v"}} }),
		"two keys, other values": who(func(u *user.DefaultInfo) {
			u.Extra = map[string][]string{"k": {"v", "v"}, "l": nil}
		}),
		"verb":                     func(r *attributes) { r.Verb = "create" },
		"no verb":                  func(r *attributes) { r.Verb = "" },
		"namespace":                func(r *attributes) { r.Namespace = "ns" },
		"group":                    func(r *attributes) { r.APIGroup = "apps" },
		"version":                  func(r *attributes) { r.APIVersion = "v2" },
		"resource":                 func(r *attributes) { r.Resource = "pods" },
		"subresource":              func(r *attributes) { r.Subresource = "proxy" },
		"no subresource":           func(r *attributes) { r.Subresource = "" },
		"name":                     func(r *attributes) { r.Name = "m" },
		"resource and name, moved": func(r *attributes) { r.Resource, r.Subresource, r.Name = "node", "sstats", "n" },
		"a path":                   func(r *attributes) { r.ResourceRequest = false },
		"another path":             func(r *attributes) { r.ResourceRequest, r.Path = false, "/stats" },
		"a path's verb":            func(r *attributes) { r.ResourceRequest, r.Verb = false, "put" },
	}
	seen := map[[32]byte]string{}
	for name, change := range rows {
		key := keyOf(request(change))
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q are one question", name, other)
		}
		seen[key] = name
		if again := keyOf(request(change)); again != key {
			t.Errorf("%q is not the same question again", name)
		}
	}
}

func TestCacheKeyIgnoresAttributesThatAreNotSent(t *testing.T) {
	if keyOf(request()) != keyOf(request(func(r *attributes) { r.Path = "/other" })) {
		t.Error("the path of a resource request makes another question")
	}
}

// FuzzKey searches for two specs with the same key.
func FuzzKey(f *testing.F) {
	f.Add("u", "g", "h", "k", "v", "get", "stats", "n", true, "u", "gh", "", "k", "v", "get", "stats", "n", true)
	f.Fuzz(func(t *testing.T, u1, g1, h1, k1, v1, verb1, sub1, n1 string, r1 bool, u2, g2, h2, k2, v2, verb2, sub2,
		n2 string, r2 bool) {
		make := func(u, g, h, k, v, verb, sub, n string, resource bool) attributes {
			return request(func(r *attributes) {
				r.User = &user.DefaultInfo{Name: u, Groups: []string{g, h}, Extra: map[string][]string{k: {v}}}
				r.Verb, r.Subresource, r.Name, r.Path, r.ResourceRequest = verb, sub, n, n, resource
			})
		}
		a, b := make(u1, g1, h1, k1, v1, verb1, sub1, n1, r1), make(u2, g2, h2, k2, v2, verb2, sub2, n2, r2)
		if same := cmp.Equal(specOf(a), specOf(b)); same != (keyOf(a) == keyOf(b)) {
			t.Errorf("specs are the same: %v, and keys are not, or the other way round", same)
		}
	})
}
