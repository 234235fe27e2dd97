// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

// ofSubresources tries each verb of each subresource of the first object of each relation.
func ofSubresources(r resource, w world) []attempt {
	var all []attempt
	for _, sub := range r.Subresources {
		switch {
		case sub.Name == "proxy":
			all = append(all, ofProxies(r, sub, w)...)
			continue
		case r.String() == "serviceaccounts" && sub.Name == "token":
			all = append(all, ofTokens(r, sub, w)...)
			continue
		}
		for _, o := range w.firsts(r) {
			for _, verb := range sub.Verbs {
				all = append(all, ofSubresource(r, sub, verb, o, w)...)
			}
		}
	}
	return all
}

func ofSubresource(r resource, sub subresource, verb string, o object, w world) []attempt {
	a := namedIn(r, verb, o, sub.Name)
	switch {
	case methods[verb] == "":
		return nil
	case streams[sub.Name]:
		// The request has no upgrade, no command and nothing to stream. An authorized caller
		// receives 400, and nothing starts.
		return []attempt{a}
	case verb == "get" && sub.Name == "log":
		return []attempt{a.asking("tailLines", "1").asking("limitBytes", "64")}
	case verb == "patch":
		return patches(a)
	case verb == "update", verb == "create":
		body := bodyBelow(r, sub, o, w)
		a = a.sending(plainJSON, typed(body, sub.Type))
		if verb == "update" {
			a.Fresh = r.path(o.Namespace, o.Name, "")
			if slices.Contains(sub.Verbs, "get") {
				a.Fresh = a.Path
			}
		}
	}
	return []attempt{a}
}

// bodyBelow returns the body for a write to a subresource: the content of the subresource if it can
// be read, the whole object, or the object of a subresource that can only be written.
func bodyBelow(r resource, sub subresource, o object, w world) map[string]any {
	switch {
	case r.String() == "pods" && sub.Name == "eviction":
		return asObject(o.Relation, fixtures.Eviction(o.Namespace, o.Name)).Body
	case r.String() == "pods" && sub.Name == "binding":
		return asObject(o.Relation, fixtures.Binding(o.Namespace, o.Name, w.Own)).Body
	}
	if below := o.Below[sub.Name]; below != nil {
		return below
	}
	return o.Body
}

// ofTokens requests tokens of accounts, for pods on both nodes and for no pod.
func ofTokens(r resource, sub subresource, w world) []attempt {
	var all []attempt
	for _, request := range w.Tokens {
		all = append(all, namedIn(r, "create", request, sub.Name).sending(plainJSON, typed(request.Body, sub.Type)))
	}
	return all
}
