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

// relation is whose something is, seen from the node whose disk was read.
type relation string

const (
	// own belongs to that node: it is the Node, or is on it, or a pod on it uses it.
	own relation = "own"
	// other belongs to the other node in the same way, and not to this one.
	other relation = "other"
	// unrelated belongs to neither, or to everybody: whole collections, for example.
	unrelated relation = "unrelated"
	// none is no object at all: what is answered is the same for everybody, or about the
	// one who asks.
	none relation = "none"
)

// beyond reports whether it is more than the node's own.
func (r relation) beyond() bool { return r == other || r == unrelated }

// road is where a request goes.
type road string

const (
	byAPI           road = "api"
	byPath          road = "path"
	byPort          road = "kubelet port"
	byProxy         road = "api server proxy"
	byImpersonation road = "impersonation"
)

// attempt is one request that every credential makes.
type attempt struct {
	Road road
	// Verb is that of the authorizers.
	Verb string
	// Resource is pods, pods/status or leases.coordination.k8s.io; for what is no
	// resource it is a path, and of a kubelet's port "kubelet:" and a path.
	Resource string
	Relation relation
	// Object is for people: which one, or which of them.
	Object string

	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Node is whose port is asked, if it is a kubelet's.
	Node string
	// Fresh is where an administrator reads what Body was made from, to make it again
	// when that has changed.
	Fresh string
}

// methods are those of the verbs that discovery can name.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

const dryRun = "dryRun"

// newAttempt begins an attempt. Whatever may write is a dry run from the start.
func newAttempt(on road, verb, what string, whose relation, path string) attempt {
	a := attempt{Road: on, Verb: verb, Resource: what, Relation: whose, Method: methods[verb], Path: path,
		Query: url.Values{}, Header: http.Header{}}
	if a.Method != http.MethodGet {
		a.Query.Set(dryRun, "All")
	}
	return a
}

// asking sets a value of the query.
func (a attempt) asking(key, value string) attempt {
	query := url.Values{}
	for k, v := range a.Query {
		query[k] = v
	}
	query.Set(key, value)
	a.Query = query
	return a
}

// about says which object it is.
func (a attempt) about(object string) attempt { a.Object = object; return a }

// sending adds a body.
func (a attempt) sending(kind string, body any) attempt {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encoding the body of %s: %v", a, err)) // of values that were decoded from JSON
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

// url is the path with its query.
func (a attempt) url() string {
	if len(a.Query) == 0 {
		return a.Path
	}
	return a.Path + "?" + a.Query.Encode()
}

// right is what the attempt is for, whatever the object.
func (a attempt) right() string { return a.Verb + " " + a.Resource }

// opensStream reports whether it asks the API server for a stream, without the upgrade
// that would open one.
func (a attempt) opensStream() bool {
	_, sub, ok := strings.Cut(a.Resource, "/")
	return a.Road == byAPI && ok && streams[sub]
}

var streams = map[string]bool{"exec": true, "attach": true, "portforward": true}

// String is the whole attempt, for somebody who wants to repeat it.
func (a attempt) String() string {
	text := fmt.Sprintf("%s %s (%s, %s) by %s: %s %s", a.Verb, a.Resource, a.Relation, a.Object, a.Road, a.Method, a.url())
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
