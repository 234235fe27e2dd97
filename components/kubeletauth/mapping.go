// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Map returns the rights that a request needs, or a denial before any authorizer is called. The
// Mapping is empty if and only if there is a denial. The caller must not change the denial.
//
// In [Compat] the attempts are those of the kubelet of Kubernetes 1.37, in its order, for every
// request that Map does not deny (pkg/kubelet/server/auth.go GetRequestAttributes).
//
// [Strict] is never weaker than Compat. If Strict allows a request by a right that the kubelet
// knows, Compat allows the same request by the same right, or a request to the same path that does
// as much: GET for HEAD, and POST for an upgrade. A request that can exec, attach, forward, run or
// upgrade always needs a right to verb create, on a subresource other than nodes/proxy.
//
// Map is safe for concurrent use.
func (m Mode) Map(r Request) (Mapping, *rules.Decision) {
	if refusal := checkMethod(r.Method); refusal != nil {
		return Mapping{}, refusal
	}
	if refusal := checkPath(r.Path, r.RawPath); refusal != nil {
		return Mapping{}, refusal
	}
	first, rest := cutSegment(r.Path[1:])
	e := endpointOf(first)
	component := e.component(rest)
	if component != "" && (r.Upgrade || strictVerbOf(r.Method) != verbGet) {
		return Mapping{}, componentOnlyRead
	}
	mapping := e.compatible(r)
	if m != Compat {
		mapping = e.strictly(r)
	}
	mapping.Component = component
	mapping.Streams = e.streams || r.Upgrade
	if e.target != nil {
		mapping.Target = e.target(rest)
	}
	return mapping, nil
}

// MapAsKubelet returns the rights that the kubelet of Kubernetes 1.37 requires, also for a path that
// Map denies (rules KA-PATH). The kubelet authorizes the path as received, and cleans it only
// afterwards (pkg/kubelet/server/auth.go isSubpath). MapAsKubelet is safe for concurrent use.
func MapAsKubelet(r Request) Mapping {
	e := &unknownEndpoint
	if path, absolute := strings.CutPrefix(r.Path, "/"); absolute {
		first, _ := cutSegment(path)
		e = endpointOf(first)
	}
	mapping := e.compatible(r)
	mapping.Streams = e.streams || r.Upgrade
	return mapping
}

// componentsSegment is the segment behind /metrics. The kubelet of Kubernetes 1.37 has nothing there.
const componentsSegment = "bulkhead"

// component returns the name of the component whose metrics are requested, or "". rest is the path
// behind the endpoint.
func (e *endpoint) component(rest string) string {
	if e != &metricsEndpoint {
		return ""
	}
	segment, name := cutSegment(rest)
	if segment != componentsSegment {
		return ""
	}
	return name
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
		return Mapping{Rule: e.extension, Attempts: e.strict[verbCreate]}
	case r.Upgrade:
		return Mapping{Rule: RuleUpgrade, Attempts: e.strict[verbCreate]}
	case e.extension != "":
		return Mapping{Rule: e.extension, Attempts: e.strict[v]}
	case v == verbNone:
		return Mapping{Rule: RuleMethodNoVerb, Attempts: e.strict[v]}
	}
	return Mapping{Rule: e.rule, Attempts: e.strict[v]}
}

// verb is the index of an API verb in a table.
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

// verbOf returns the verb of a method as the kubelet does: case-sensitive, and without a verb for
// an unknown method (pkg/kubelet/server/auth.go GetRequestAttributes).
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

// strictVerbOf treats HEAD as GET, because HEAD is GET without a body (RFC 9110 section 9.3.2).
func strictVerbOf(method string) verb {
	const head = "HEAD"
	if method == head {
		return verbGet
	}
	return verbOf(method)
}

// checkMethod denies methods that ask the proxy itself to act. CONNECT opens a tunnel, and
// websockets over HTTP/2 use it too (RFC 9110 section 9.3.6, RFC 8441). TRACE returns the request,
// including credentials (RFC 9110 section 9.3.8).
func checkMethod(method string) *rules.Decision {
	switch method {
	case "CONNECT", "TRACE":
		return methodNotServed
	}
	return nil
}
