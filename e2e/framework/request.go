// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Request is one request to the API server, with the attributes that authorizers see. Writes are
// dry runs, unless they are [Request.Stored]: the authorizers see the same attributes.
type Request struct {
	Verb        string
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	Name        string
	// Selector is a field selector in query form. Label is a label's key and value.
	Selector, Label string
	// Path is set for a non-resource request.
	Path string
	// Body is the object that is written.
	Body any

	legacyWatch    bool
	acceptNotFound bool
	stored         bool
	reviewOnly     bool
	auditID        types.UID
}

// Get requests one object. Like the functions that follow, it returns a request that the methods
// below complete.
func Get(r schema.GroupVersionResource) Request { return Request{Verb: "get", Resource: r} }

// List requests many objects.
func List(r schema.GroupVersionResource) Request { return Request{Verb: "list", Resource: r} }

// Watch requests changes of objects.
func Watch(r schema.GroupVersionResource) Request { return Request{Verb: "watch", Resource: r} }

// Create creates an object, or a subresource of the named object.
func Create(r schema.GroupVersionResource) Request { return Request{Verb: "create", Resource: r} }

// Update replaces an object.
func Update(r schema.GroupVersionResource) Request { return Request{Verb: "update", Resource: r} }

// Delete deletes an object.
func Delete(r schema.GroupVersionResource) Request { return Request{Verb: "delete", Resource: r} }

// Patch patches an object. Without [Request.With] the patch is empty.
func Patch(r schema.GroupVersionResource) Request {
	return Request{Verb: "patch", Resource: r, Body: struct{}{}}
}

// DeleteAll is the verb deletecollection.
func DeleteAll(r schema.GroupVersionResource) Request {
	return Request{Verb: "deletecollection", Resource: r}
}

// GetPath is a non-resource request.
func GetPath(path string) Request { return Request{Verb: "get", Path: path} }

// Ask is a check that components request from the authorizers. Its verb has no HTTP method, so no
// request can express it.
func Ask(verb string, r schema.GroupVersionResource) Request {
	return Request{Verb: verb, Resource: r, reviewOnly: true}
}

// In sets the namespace.
func (r Request) In(namespace string) Request { r.Namespace = namespace; return r }

// Named sets the name of the object.
func (r Request) Named(name string) Request { r.Name = name; return r }

// Sub sets the subresource.
func (r Request) Sub(resource string) Request { r.Subresource = resource; return r }

// Where sets a field selector.
func (r Request) Where(selector string) Request { r.Selector = selector; return r }

// With sets the body.
func (r Request) With(body any) Request { r.Body = body; return r }

// Labelled selects objects by one label, as key=value.
func (r Request) Labelled(label string) Request { r.Label = label; return r }

// OnWatchPath uses the old form of watches, /api/v1/watch/….
func (r Request) OnWatchPath() Request { r.legacyWatch = true; return r }

// OrMissing also accepts "not found" as the answer to an allowed request.
func (r Request) OrMissing() Request { r.acceptNotFound = true; return r }

// Stored makes a write take effect.
func (r Request) Stored() Request { r.stored = true; return r }

// WithAuditID sets the ID of the request's audit events. The HTTP client may send a request again on a
// new connection: then several events have the ID. The API server takes the ID from a header
// (k8s.io/apiserver pkg/endpoints/request/auditid.go, pkg/endpoints/filters/audit_init.go).
func (r Request) WithAuditID(id types.UID) Request { r.auditID = id; return r }

func (r Request) method() string {
	switch r.Verb {
	case "create":
		return http.MethodPost
	case "update":
		return http.MethodPut
	case "patch":
		return http.MethodPatch
	case "delete", "deletecollection":
		return http.MethodDelete
	default:
		return http.MethodGet
	}
}

func (r Request) writes() bool { return r.method() != http.MethodGet }

// url returns the path and query of the request.
func (r Request) url() string {
	if r.Path != "" {
		return r.Path
	}
	parts := []string{"/apis", r.Resource.Group, r.Resource.Version}
	if r.Resource.Group == "" {
		parts = []string{"/api", r.Resource.Version}
	}
	if r.legacyWatch {
		parts = append(parts, "watch")
	}
	if r.Namespace != "" {
		parts = append(parts, "namespaces", url.PathEscape(r.Namespace))
	}
	parts = append(parts, r.Resource.Resource)
	for _, part := range []string{r.nameInPath(), r.Subresource} {
		if part != "" {
			parts = append(parts, url.PathEscape(part))
		}
	}
	return strings.Join(parts, "/") + "?" + r.query().Encode()
}

// nameInPath is empty for the creation of an object, whose name is in the body.
func (r Request) nameInPath() string {
	if r.Verb == "create" && r.Subresource == "" {
		return ""
	}
	return r.Name
}

func (r Request) query() url.Values {
	query := url.Values{}
	if r.Selector != "" {
		query.Set("fieldSelector", r.Selector)
	}
	if r.Label != "" {
		query.Set("labelSelector", r.Label)
	}
	if r.writes() && !r.stored {
		query.Set("dryRun", "All")
	}
	if r.Verb == "watch" {
		query.Set("timeoutSeconds", strconv.Itoa(int(watchOpen.Seconds())))
		if !r.legacyWatch {
			query.Set("watch", "true")
		}
	}
	return query
}

// String returns a readable form of the request.
func (r Request) String() string {
	if r.Path != "" {
		return r.Verb + " " + r.Path
	}
	s := r.Verb + " " + r.Resource.GroupResource().String()
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	if r.Namespace != "" {
		s += " in " + r.Namespace
	}
	if r.Name != "" {
		s += " named " + r.Name
	}
	if r.Selector != "" {
		s += " where " + r.Selector
	}
	if r.Label != "" {
		s += " labelled " + r.Label
	}
	return s
}
