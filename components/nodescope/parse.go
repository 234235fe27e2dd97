// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxValueLength bounds an annotation's value, in bytes. An API server takes 256 KiB
	// of annotations; the names of all resources of a cluster fit in far less than this.
	MaxValueLength = 8 << 10
	// maxLabel bounds the name of a resource and of a namespace, maxDomain that of a group
	// and of an account.
	//
	// Source: k8s.io/apimachinery/pkg/util/validation DNS1123LabelMaxLength, DNS1123SubdomainMaxLength.
	maxLabel, maxDomain = 63, 253
	// maxEntries bounds the different resources of one value, and so the memory that a
	// scope takes.
	maxEntries = 128
	// maxQuoted bounds what errors show of a value: they end in events and logs.
	maxQuoted = 80
)

// blanks may stand around entries, so that a value may be written on several lines.
const blanks = " \t\r\n"

var (
	errTooLong = fmt.Errorf("longer than %d bytes", MaxValueLength)
	errTooMany = fmt.Errorf("more than %d resources: name groups (*.storage.k8s.io) or everything (*)", maxEntries)
)

// ParseScope reads the value of [ScopeAnnotation]: entries with commas between them.
// An entry names resources as RBAC does.
//
//	pods                          a resource of the core group, with all its subresources
//	pods/-                        the resource alone, without its subresources
//	nodes/status                  a subresource
//	leases.coordination.k8s.io    a resource of another group, with all its subresources
//	*.storage.k8s.io              all resources and subresources of a group
//	*                             all resources and subresources
//
// A value without any entry holds nobody to anything, and what is named twice is held
// once. Of a value that cannot be understood, or of which a part cannot be held, the
// scope is [Everything], and the error says what is wrong; the scope is never nil. The
// cost is bounded by [MaxValueLength]: a longer value is not looked at.
func ParseScope(value string) (*Scope, error) {
	s := &Scope{}
	err := eachEntry(value, func(entry string) error {
		if len(s.named)+len(s.groups) > maxEntries {
			return errTooMany
		}
		return s.add(entry)
	})
	if err != nil {
		return Everything(), fmt.Errorf("%s: %w", ScopeAnnotation, err)
	}
	return s, nil
}

// eachEntry calls add with every entry of a value, without the blanks around it, until
// one is refused.
func eachEntry(value string, add func(entry string) error) error {
	if len(value) > MaxValueLength {
		return errTooLong
	}
	if strings.Trim(value, blanks) == "" {
		return nil
	}
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.Trim(entry, blanks)
		if err := add(entry); err != nil {
			return fmt.Errorf("%q: %w", shortened(entry), err)
		}
	}
	return nil
}

func shortened(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return text[:maxQuoted] + "…"
}

var (
	errEmpty = errors.New("an entry is empty")
	errSelf  = errors.New("a question about one's own rights is never held to a node")
	errForm  = errors.New(
		"want a resource as RBAC names it: pods, pods/- (without subresources), nodes/status, leases.coordination.k8s.io, " +
			"*.storage.k8s.io or *")
	errWildcard = errors.New(
		"a wildcard stands for all resources (*) or for all of a group (*.storage.k8s.io) and nowhere else")
)

// add takes one entry.
func (s *Scope) add(entry string) error {
	if entry == "" {
		return errEmpty
	}
	if entry == "*" {
		s.everything = true
		return nil
	}
	if group, ok := strings.CutPrefix(entry, "*."); ok && isDomain(group) {
		s.withGroup(group)
		return nil
	}
	alone, isAlone := strings.CutSuffix(entry, withoutSubresources)
	r, err := parseResource(alone)
	if err != nil {
		return err
	}
	if isAlone && r.Subresource != "" {
		return errForm
	}
	if isSelfReview(r) {
		return errSelf
	}
	if why, not := notHeld[r]; not {
		return errors.New(why)
	}
	if r.Subresource == "" && !isAlone {
		r.Subresource = everySubresource
	}
	s.with(r)
	return nil
}

// withoutSubresources ends an entry that names a resource alone.
const withoutSubresources = "/-"

// notHeld are resources of which a part could be a node's own and which cannot be held
// to it. Who names one means that part, and would get nothing of it.
var notHeld = map[Resource]string{
	{Group: "discovery.k8s.io",
		Resource: "endpointslices"}: "an EndpointSlice names a node for each endpoint and none for itself, so nobody can " +
		"be held to those of one node; leave it out, and give the account no more of it by RBAC than reading",
}

// parseResource reads a resource without wildcards.
func parseResource(entry string) (Resource, error) {
	if strings.Contains(entry, "*") {
		return Resource{}, errWildcard
	}
	full, subresource, hasSubresource := strings.Cut(entry, "/")
	name, group, hasGroup := strings.Cut(full, ".")
	if !isLabel(name) || hasGroup && !isDomain(group) || hasSubresource && !isLabel(subresource) {
		return Resource{}, errForm
	}
	return Resource{Group: group, Resource: name, Subresource: subresource}, nil
}

// isDomain reports whether the name is a DNS subdomain as Kubernetes has it: no more than
// 253 characters, and no bound on one label of it.
//
// Source: k8s.io/apimachinery/pkg/util/validation IsDNS1123Subdomain.
func isDomain(name string) bool {
	if len(name) > maxDomain {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !hasLabelForm(label) {
			return false
		}
	}
	return true
}

// isLabel reports whether the name is a label of RFC 1123.
func isLabel(name string) bool { return len(name) <= maxLabel && hasLabelForm(name) }

// hasLabelForm reports whether the name has only lower case letters, digits and dashes, and
// no dash at either end. Anything beyond ASCII has not, whatever it looks like.
func hasLabelForm(name string) bool {
	if name == "" || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
