// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// relation is the node that an object belongs to, relative to the node whose disk was read.
type relation string

const (
	// own: the object belongs to that node. It is the Node, is on the node, or is used by a pod on
	// it.
	own relation = "own"
	// other: the object belongs to the other node in the same way, and not to this node.
	other relation = "other"
	// unrelated: the object belongs to neither node, or to all. Whole collections are an example.
	unrelated relation = "unrelated"
	// none: the request is about no object. The answer is the same for all callers, or about the
	// caller.
	none relation = "none"
)

// isOutside reports whether the relation is outside of the node's own scope.
func (r relation) isOutside() bool { return r == other || r == unrelated }

// route is the server that receives a request, and the way to it.
type route string

const (
	byAPI           route = "api"
	byPath          route = "path"
	byPort          route = "kubelet port"
	byProxy         route = "api server proxy"
	byImpersonation route = "impersonation"
)

// attempt is one request that is made with every credential.
type attempt struct {
	Route route
	// Verb is the verb that authorizers see.
	Verb string
	// Resource is, for example, pods, pods/status or leases.coordination.k8s.io. For a non-resource
	// request it is a path. For a kubelet's port it is "kubelet:" and a path.
	Resource string
	Relation relation
	// Object names the object or objects, for readers of the report.
	Object string

	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Node is the node whose kubelet port is called. It is empty for other requests.
	Node string
	// Fresh is the path of the object that Body was made from. An administrator reads it again to
	// update Body after a conflict.
	Fresh string
}

// methods are the HTTP methods of the verbs that discovery can list.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

const dryRun = "dryRun"

// newAttempt returns an attempt. Every attempt that may write is a dry run.
func newAttempt(on route, verb, what string, whose relation, path string) attempt {
	a := attempt{Route: on, Verb: verb, Resource: what, Relation: whose, Method: methods[verb], Path: path,
		Query: url.Values{}, Header: http.Header{}}
	if a.Method != http.MethodGet {
		a.Query.Set(dryRun, "All")
	}
	return a
}

// asking sets a query parameter.
func (a attempt) asking(key, value string) attempt {
	query := url.Values{}
	for k, v := range a.Query {
		query[k] = v
	}
	query.Set(key, value)
	a.Query = query
	return a
}

// about sets the object.
func (a attempt) about(object string) attempt { a.Object = object; return a }

// sending adds a body.
func (a attempt) sending(kind string, body any) attempt {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encoding the body of %s: %v", a, err)) // cannot happen: the values were decoded from JSON
	}
	header := a.Header.Clone()
	header.Set("Content-Type", kind)
	a.Body, a.Header = encoded, header
	return a
}

const (
	plainJSON  = "application/json"
	mergePatch = "application/merge-patch+json"
)

// url returns the path with its query.
func (a attempt) url() string {
	if len(a.Query) == 0 {
		return a.Path
	}
	return a.Path + "?" + a.Query.Encode()
}

// right returns the right that the attempt needs, without the object.
func (a attempt) right() string { return a.Verb + " " + a.Resource }

// opensStream reports whether the attempt requests a stream from the API server. The request has no
// upgrade, so no stream opens.
func (a attempt) opensStream() bool {
	_, sub, ok := strings.Cut(a.Resource, "/")
	return a.Route == byAPI && ok && streams[sub]
}

var streams = map[string]bool{"exec": true, "attach": true, "portforward": true}

// String describes the whole attempt, so that a reader can repeat it.
func (a attempt) String() string {
	text := fmt.Sprintf("%s %s (%s, %s) by %s: %s %s", a.Verb, a.Resource, a.Relation, a.Object, a.Route, a.Method,
		a.url())
	if a.Node != "" {
		text += " at the kubelet of " + a.Node
	}
	for name, values := range a.Header {
		text += fmt.Sprintf(" -H '%s: %s'", name, strings.Join(values, ","))
	}
	switch {
	case len(a.Body) == 0:
	case strings.HasPrefix(a.Resource, "secrets"):
		text += " --data (a secret)"
	default:
		text += " --data '" + string(a.Body) + "'"
	}
	return text
}
