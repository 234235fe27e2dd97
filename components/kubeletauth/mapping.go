// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Map says which rights a request needs, or why it is refused before anybody is
// asked: the Mapping is empty if and only if there is a denial, which must not be changed.
//
// In [Compat] the attempts are those of the kubelet of Kubernetes 1.37, in its
// order, for every request that is not refused
// (pkg/kubelet/server/auth.go GetRequestAttributes).
//
// In [Strict] whoever is allowed by a right that the kubelet knows is allowed in
// Compat too, by the same right, to make the request, or one to the same path that
// does as much: GET for HEAD, and POST for an upgrade. What execs, attaches,
// forwards, runs or upgrades is never allowed by a right to any verb but create, nor
// by any right to nodes/proxy.
//
// Map is safe for concurrent use and does not allocate for a request that is not
// refused, if its path has no RawPath.
func (m Mode) Map(r Request) (Mapping, *rules.Decision) {
	if refusal := checkMethod(r.Method); refusal != nil {
		return Mapping{}, refusal
	}
	if refusal := checkPath(r.Path, r.RawPath); refusal != nil {
		return Mapping{}, refusal
	}
	first, rest := cutSegment(r.Path[1:])
	e := endpointOf(first)
	mapping := e.compatible(r)
	if m != Compat {
		mapping = e.strictly(r)
	}
	mapping.Streams = e.streams || r.Upgrade
	if e.target != nil {
		mapping.Target = e.target(rest)
	}
	return mapping, nil
}

func (e *endpoint) compatible(r Request) Mapping {
	v := verbOf(r.Method)
	rule := e.rule
	if v == verbNone {
		rule = RuleMethodNoVerb
	}
	return Mapping{Rule: rule, Attempts: e.compat[v]}
}

func (e *endpoint) strictly(r Request) Mapping {
	v := strictVerbOf(r.Method)
	switch {
	case e.create:
		return Mapping{Rule: e.beyond, Attempts: e.strict[verbCreate]}
	case r.Upgrade:
		return Mapping{Rule: RuleUpgrade, Attempts: e.strict[verbCreate]}
	case e.beyond != "":
		return Mapping{Rule: e.beyond, Attempts: e.strict[v]}
	case v == verbNone:
		return Mapping{Rule: RuleMethodNoVerb, Attempts: e.strict[v]}
	}
	return Mapping{Rule: e.rule, Attempts: e.strict[v]}
}

// verb is an API verb by its place in a table.
type verb int

const (
	verbNone verb = iota
	verbCreate
	verbGet
	verbUpdate
	verbPatch
	verbDelete
	verbCount
)

var verbNames = [verbCount]string{
	verbNone: "", verbCreate: "create", verbGet: "get", verbUpdate: "update", verbPatch: "patch", verbDelete: "delete",
}

// verbOf reads a method as the kubelet does: exactly, and whatever it does not know
// has no verb (pkg/kubelet/server/auth.go GetRequestAttributes).
func verbOf(method string) verb {
	switch method {
	case "POST":
		return verbCreate
	case "GET":
		return verbGet
	case "PUT":
		return verbUpdate
	case "PATCH":
		return verbPatch
	case "DELETE":
		return verbDelete
	}
	return verbNone
}

// strictVerbOf reads HEAD as what it is, GET without a body (RFC 9110 section 9.3.2).
func strictVerbOf(method string) verb {
	const head = "HEAD"
	if method == head {
		return verbGet
	}
	return verbOf(method)
}

// checkMethod refuses what asks the proxy itself to do something: to open a tunnel,
// as websockets over HTTP/2 do, too (RFC 9110 section 9.3.6, RFC 8441), and to return
// what it was sent, credentials included (RFC 9110 section 9.3.8).
func checkMethod(method string) *rules.Decision {
	switch method {
	case "CONNECT", "TRACE":
		return methodNotServed
	}
	return nil
}
