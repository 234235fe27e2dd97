// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

// largestPooled is the size, in bytes, of the largest buffer that is reused.
const largestPooled = 16 << 10

var buffers = sync.Pool{New: func() any { return &encoding{} }}

// encoding encodes a spec so that no two specs have the same bytes: the length of every string and
// every list comes before it.
type encoding struct {
	bytes []byte
	keys  []string
}

// keyOf returns different keys for requests that need different reviews.
func keyOf(attrs authorizer.Attributes) reviewclient.Key {
	e, _ := buffers.Get().(*encoding)
	e.bytes = e.bytes[:0]
	e.user(attrs)
	e.attributes(attrs)
	key := reviewclient.Key(sha256.Sum256(e.bytes))
	if cap(e.bytes) <= largestPooled {
		buffers.Put(e)
	}
	return key
}

func (e *encoding) user(attrs authorizer.Attributes) {
	who := attrs.GetUser()
	if who == nil {
		e.length(0)
		return
	}
	e.length(1)
	e.text(who.GetName())
	e.text(who.GetUID())
	e.list(who.GetGroups())
	extra := who.GetExtra()
	e.length(len(extra))
	e.keys = e.keys[:0]
	for key := range extra {
		e.keys = append(e.keys, key)
	}
	slices.Sort(e.keys)
	for _, key := range e.keys {
		e.text(key)
		e.list(extra[key])
	}
	clear(e.keys)
}

func (e *encoding) attributes(attrs authorizer.Attributes) {
	if !attrs.IsResourceRequest() {
		e.length(0)
		e.text(attrs.GetPath())
		e.text(attrs.GetVerb())
		return
	}
	e.length(1)
	e.text(attrs.GetNamespace())
	e.text(attrs.GetVerb())
	e.text(attrs.GetAPIGroup())
	e.text(attrs.GetAPIVersion())
	e.text(attrs.GetResource())
	e.text(attrs.GetSubresource())
	e.text(attrs.GetName())
}

func (e *encoding) list(texts []string) {
	e.length(len(texts))
	for _, text := range texts {
		e.text(text)
	}
}

func (e *encoding) text(text string) {
	e.length(len(text))
	e.bytes = append(e.bytes, text...)
}

func (e *encoding) length(n int) {
	e.bytes = binary.AppendUvarint(e.bytes, uint64(n)) //nolint:gosec // lengths are not negative
}

// specOf returns the spec of the review. It contains what
// k8s.io/apiserver/plugin/pkg/authorizer/webhook sends, except selectors: no request to a kubelet
// has selectors, and selectors can only narrow a request. keyOf must include every field of the
// spec.
func specOf(attrs authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	var spec authorizationv1.SubjectAccessReviewSpec
	if who := attrs.GetUser(); who != nil {
		spec.User, spec.UID, spec.Groups = who.GetName(), who.GetUID(), who.GetGroups()
		spec.Extra = extraOf(who.GetExtra())
	}
	if !attrs.IsResourceRequest() {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: attrs.GetPath(), Verb: attrs.GetVerb()}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: attrs.GetNamespace(), Verb: attrs.GetVerb(),
		Group: attrs.GetAPIGroup(), Version: attrs.GetAPIVersion(),
		Resource: attrs.GetResource(), Subresource: attrs.GetSubresource(), Name: attrs.GetName(),
	}
	return spec
}

func extraOf(extra map[string][]string) map[string]authorizationv1.ExtraValue {
	if extra == nil {
		return nil
	}
	values := make(map[string]authorizationv1.ExtraValue, len(extra))
	for key, value := range extra {
		values[key] = value
	}
	return values
}

// attributeBytes is the size of the attributes that the client chooses. The path of a resource
// request does not count, because the review does not contain it.
func attributeBytes(attrs authorizer.Attributes) int {
	if !attrs.IsResourceRequest() {
		return len(attrs.GetPath()) + len(attrs.GetVerb())
	}
	return len(attrs.GetNamespace()) + len(attrs.GetVerb()) + len(attrs.GetAPIGroup()) + len(attrs.GetAPIVersion()) +
		len(attrs.GetResource()) + len(attrs.GetSubresource()) + len(attrs.GetName())
}
