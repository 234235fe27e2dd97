// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxValueLength is the maximum length of an annotation's value, in bytes. An API server
	// accepts 256 KiB of annotations. The names of all resources of a cluster need much less
	// than MaxValueLength.
	MaxValueLength = 8 << 10
	// maxLabel is the maximum length of the name of a resource or a namespace. maxDomain is
	// that of the name of an API group or an account.
	//
	// Source: k8s.io/apimachinery/pkg/util/validation DNS1123LabelMaxLength,
	// DNS1123SubdomainMaxLength.
	maxLabel, maxDomain = 63, 253
	// maxEntries is the maximum number of different resources in one value. It limits the
	// memory that a scope uses.
	maxEntries = 128
	// maxQuoted is the maximum number of bytes of a value that an error quotes. Errors are
	// written to events and logs.
	maxQuoted = 80
)

// blanks are allowed around entries, so that a value can have several lines.
const blanks = " \t\r\n"

var (
	errTooLong = fmt.Errorf("longer than %d bytes", MaxValueLength)
	errTooMany = fmt.Errorf("more than %d resources: name groups (*.storage.k8s.io) or everything (*)", maxEntries)
)

// ParseScope parses the value of [ScopeAnnotation], a comma-separated list of entries. An entry
// names resources as RBAC does.
//
//	pods                          a resource of the core group, with all its subresources
//	pods/-                        the resource alone, without its subresources
//	nodes/status                  a subresource
//	leases.coordination.k8s.io    a resource of another group, with all its subresources
//	*.storage.k8s.io              all resources and subresources of a group
//	*                             all resources and subresources
//
// A value without entries is an empty scope. A duplicate entry has no effect. If the value
// cannot be parsed, or names a resource that cannot be in a scope, ParseScope returns
// [Everything] and an error that says what is wrong. The scope is never nil. [MaxValueLength]
// limits the cost: a longer value is not parsed.
func ParseScope(value string) (*Scope, error) {
	s := &Scope{}
	err := eachEntry(value, func(entry string) error {
		if err := s.add(entry); err != nil {
			return err
		}
		if len(s.named)+len(s.groups) > maxEntries {
			return errTooMany
		}
		return nil
	})
	if err != nil {
		return Everything(), fmt.Errorf("%s: %w", ScopeAnnotation, err)
	}
	return s, nil
}

// eachEntry calls add for every entry of a value, without the blanks around it. It stops at the
// first entry for which add returns an error.
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
	errSelf  = errors.New("a question about one's own rights cannot be limited to a node")
	errForm  = errors.New(
		"want a resource as RBAC names it: pods, pods/- (without subresources), nodes/status, leases.coordination.k8s.io, " +
			"*.storage.k8s.io or *")
	errWildcard = errors.New(
		"a wildcard stands for all resources (*) or for all of a group (*.storage.k8s.io) and nowhere else")
)

// add adds one entry to the scope.
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
	if why, not := unsupported[r]; not {
		return errors.New(why)
	}
	if r.Subresource == "" && !isAlone {
		r.Subresource = everySubresource
	}
	s.with(r)
	return nil
}

// withoutSubresources is the suffix of an entry that names a resource without its subresources.
const withoutSubresources = "/-"

// unsupported are resources that cannot be in a scope. An object of such a resource belongs only in
// part to one node. An owner who names one means that part, but would get no access to it.
var unsupported = map[Resource]string{
	{Group: "discovery.k8s.io",
		Resource: "endpointslices"}: "an EndpointSlice names a node for each endpoint and none for itself, so it " +
		"belongs to no node; leave it out, and let RBAC allow the account only to read it",
}

// parseResource parses a resource without wildcards.
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

// isDomain reports whether the name is a DNS subdomain as Kubernetes defines it: at most 253
// characters, without a limit on the length of one label.
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

// hasLabelForm reports whether the name has only lowercase letters, digits and dashes, and no
// dash at either end. It is false for a name with a character outside ASCII, even one that
// looks like a letter.
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
