// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// Mode says which rights a request to the kubelet's API needs.
type Mode int

// The modes. The zero value is Compat.
const (
	// Compat asks for what the kubelet of Kubernetes 1.37 asks for.
	Compat Mode = iota
	// Strict asks for verb create on a subresource of its own for whatever runs
	// or joins a process, and lets nodes/proxy stand in for as little as it can.
	Strict
)

// Request is what of a request to the kubelet's API decides which rights it needs.
type Request struct {
	// Method is the HTTP method as received, in its case.
	Method string
	// Path is the decoded path, as net/url gives it.
	Path string
	// RawPath is the path as received, up to the "?", if it differs from the default
	// encoding of Path (net/url's URL.RawPath); empty if not.
	RawPath string
	// Upgrade is true if a protocol upgrade was asked for.
	Upgrade bool
}

// Attributes are the verb and the subresource that an authorizer is asked about.
// The rest is the same for every request: no namespace, the core API group, version
// v1, resource nodes, and the name of the node.
type Attributes struct{ Verb, Subresource string }

// Target is what the path of a request names. Empty is what it does not name. It
// is the caller's text and proves nothing: the kubelet looks a container up by
// namespace, pod name and container name.
type Target struct{ Namespace, Pod, UID, Container string }

// Mapping is what a request needs.
type Mapping struct {
	// Rule is the rule that asks for the rights.
	Rule rules.ID
	// Attempts are the rights, of which one is enough. They are asked about in this
	// order, and never empty. The slice is shared by all requests: it must not be
	// written to.
	Attempts []Attributes
	// Target is what the path names, for the audit line.
	Target Target
	// Streams is true if the answer can last: exec, attach, portForward, run, the
	// logs of a container, which may be followed, and every upgrade.
	Streams bool
}
