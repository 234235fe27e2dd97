// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

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
