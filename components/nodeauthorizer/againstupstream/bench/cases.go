// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Case is one request with the answer that all sides have to give.
type Case struct {
	Name       string
	Attributes *authorizer.AttributesRecord
	// Allowed is the in-tree answer. The hardened profile gives it too, unless
	// Beyond says that an optional rule refuses what the in-tree authorizer allows.
	Allowed, Beyond bool
	// Parallelism is that of upstream's benchmark, or 1.
	Parallelism int
}

var asNode0 = &user.DefaultInfo{Name: "system:node:node0", Groups: []string{"system:nodes", "system:authenticated"}}

// request reads "get secrets ns0/x", "create serviceaccounts/token ns0/x" or
// "list pods.group -": verb, resource with its subresource and group, and what is
// asked for, where a dash is nothing.
func request(text string) *authorizer.AttributesRecord {
	parts := strings.Fields(text)
	a := &authorizer.AttributesRecord{User: asNode0, APIVersion: "v1", ResourceRequest: true, Verb: parts[0]}
	a.Resource, a.APIGroup, _ = strings.Cut(parts[1], ".")
	a.Resource, a.Subresource, _ = strings.Cut(a.Resource, "/")
	if sub, group, ok := strings.Cut(a.APIGroup, "/"); ok {
		a.APIGroup, a.Subresource = sub, group
	}
	if namespace, name, ok := strings.Cut(parts[2], "/"); ok {
		a.Namespace, a.Name = namespace, name
	} else if parts[2] != "-" {
		a.Name = parts[2]
	}
	return a
}

func allowed(text string) Case { return Case{Name: text, Attributes: request(text), Allowed: true} }
func refused(text string) Case { return Case{Name: text, Attributes: request(text)} }

// beyond is what only the hardened profile refuses.
func beyond(text string) Case {
	c := allowed(text)
	c.Beyond = true
	return c
}

// selecting is the case with a field selector.
func (c Case) selecting(selector string) Case {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		// The selectors are in this package.
		panic(err)
	}
	c.Name += " " + selector
	c.Attributes.FieldSelectorRequirements = parsed.Requirements()
	return c
}

// by is the case of another user.
func (c Case) by(who user.Info) Case {
	c.Name += " by " + who.GetName()
	c.Attributes.User = who
	return c
}

// path is a case without a resource.
func path(verb, path string) Case {
	return Case{Name: verb + " " + path, Attributes: &authorizer.AttributesRecord{User: asNode0, Verb: verb, Path: path}}
}

// check reports a side that answers otherwise than it has to.
func (t trio) check(cases []Case) error {
	for _, c := range cases {
		for i, side := range t.all() {
			want := c.Allowed && (i != 1 || !c.Beyond)
			decision, reason, err := side.Authorize(context.Background(), c.Attributes)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.Name, sideNames[i], err)
			}
			if got := decision == authorizer.DecisionAllow; got != want {
				return fmt.Errorf("%s: %s allows: %v (%q), want %v", c.Name, sideNames[i], got, reason, want)
			}
			if i != 1 && !want && decision != authorizer.DecisionNoOpinion {
				return fmt.Errorf("%s: %s answers %v, want no opinion", c.Name, sideNames[i], decision)
			}
		}
	}
	return nil
}

var sideNames = [3]string{"ours in parity", "ours in hardened", "in-tree"}
