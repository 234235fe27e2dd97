// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package revocationlist reads the cluster's list of revoked credentials.
//
// The list is the ConfigMap [Name] in [Namespace]. Its key [IDsKey] has one credential ID or one
// node a line. A "#" starts a comment, which ends with the line. The other keys are certificate
// revocation lists (PEM), which package kubeletauth/crl reads.
//
// NODE=<node name> revokes every credential of the user system:node:<node name>. Kubernetes writes
// a credential ID into the user's extra field authentication.kubernetes.io/credential-id:
//
//   - X509SHA256=<64 hex digits> for a client certificate
//     (k8s.io/apiserver/pkg/authentication/request/x509/x509.go CommonNameUserConversion)
//   - JTI=<UUID> for the token of a service account (KEP-4193)
package revocationlist

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// Namespace is the namespace of the ConfigMap.
	Namespace = "kube-system"
	// Name is the name of the ConfigMap.
	Name = "bulkhead-revocations"
	// IDsKey is the key with the credential IDs.
	IDsKey = "credential-ids"

	// maxBytes is the maximum size of a ConfigMap (k8s.io/kubernetes/pkg/apis/core/types.go
	// MaxSecretSize).
	maxBytes = 1 << 20
	// maxProblems is the maximum number of lines that an error names.
	maxProblems = 5
)

// Set is a set of revoked credential IDs and nodes. It is immutable and safe for concurrent use. A
// nil *Set is empty.
type Set struct {
	// entries has the credential IDs, and the user names of the nodes.
	entries map[string]struct{}
}

// Len returns the number of credential IDs and nodes.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.entries)
}

// Find reports whether the user, or the user's credential, is revoked. what is then
// "node <node name>" or "credential <ID>".
func (s *Set) Find(u user.Info) (what string, revoked bool) {
	if s.Len() == 0 || u == nil {
		return "", false
	}
	if _, revoked := s.entries[u.GetName()]; revoked {
		return "node " + strings.TrimPrefix(u.GetName(), nodePrefix), true
	}
	for _, id := range u.GetExtra()[user.CredentialIDKey] {
		if _, revoked := s.entries[id]; revoked {
			return "credential " + id, true
		}
	}
	return "", false
}

// Union returns a set with the entries of both sets.
func (s *Set) Union(other *Set) *Set {
	both := &Set{entries: map[string]struct{}{}}
	for _, set := range []*Set{s, other} {
		if set != nil {
			maps.Copy(both.entries, set.entries)
		}
	}
	return both
}

// Decode parses the value of [IDsKey]. It is safe for any input. If it returns an error, the
// Set has the entries of the valid lines: see [Update].
func Decode(text string) (*Set, error) {
	set := &Set{entries: map[string]struct{}{}}
	if len(text) > maxBytes {
		return set, fmt.Errorf("cannot read the list of revoked credentials: it has %d bytes, want at most %d", len(text),
			maxBytes)
	}
	var problems []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		id, _ := split(line)
		if id == "" {
			continue
		}
		if err := CheckID(id); err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		if node, ok := strings.CutPrefix(id, nodeKey); ok {
			id = nodePrefix + node
		}
		set.entries[id] = struct{}{}
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Errorf("and %d lines more", more))
	}
	return set, errors.Join(problems...)
}

// Update returns the set that is in force after last, for the new text of the list. An error in
// the list never restores access: the entries of last stay revoked, and those of the valid lines
// are revoked too.
func Update(last *Set, text string) (*Set, error) {
	next, err := Decode(text)
	if err != nil {
		return next.Union(last), err
	}
	return next, nil
}

const (
	nodeKey = "NODE="
	// nodePrefix is the prefix of the user names of nodes
	// (k8s.io/kubernetes/pkg/auth/nodeidentifier/default.go).
	nodePrefix = "system:node:"
)

// IDs are compared byte by byte, and Kubernetes writes only lowercase.
var idPattern = regexp.MustCompile(`^(X509SHA256=[0-9a-f]{64}|JTI=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// CheckID returns an error if id is neither a credential ID nor NODE=<node name>.
func CheckID(id string) error {
	if node, ok := strings.CutPrefix(id, nodeKey); ok {
		if problems := validation.IsDNS1123Subdomain(node); len(problems) > 0 {
			return fmt.Errorf("%.100q is not a node name: %s", node, strings.Join(problems, "; "))
		}
		return nil
	}
	if !idPattern.MatchString(id) {
		return fmt.Errorf("%.100q is not a credential ID: want X509SHA256=<64 lower-case hex digits>, JTI=<UUID> or "+
			"NODE=<node name>", id)
	}
	return nil
}

// IDOfNode returns the entry that revokes every credential of the node.
func IDOfNode(node string) string { return nodeKey + node }

// split splits a line into the entry and the comment. Either may be empty.
func split(line string) (id, comment string) {
	id, comment, _ = strings.Cut(line, "#")
	return strings.TrimSpace(id), strings.TrimSpace(comment)
}

// IDOf returns the credential ID of a client certificate.
func IDOf(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return "X509SHA256=" + hex.EncodeToString(sum[:])
}

// Entry is a line of the list. ID is a credential ID or NODE=<node name>.
type Entry struct {
	ID      string `json:"id"`
	Comment string `json:"comment,omitempty"`
}

// Entries returns the lines with an ID, valid or not, in their order.
func Entries(text string) []Entry {
	var entries []Entry
	for line := range strings.Lines(text) {
		if id, comment := split(line); id != "" {
			entries = append(entries, Entry{id, comment})
		}
	}
	return entries
}

// Add appends an entry. It returns text unchanged if text already has the ID.
func Add(text string, entry Entry) string {
	for _, there := range Entries(text) {
		if there.ID == entry.ID {
			return text
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += entry.ID
	if comment := strings.Join(strings.Fields(entry.Comment), " "); comment != "" {
		text += " # " + comment
	}
	return text + "\n"
}

// Remove removes the lines with the ID. It returns text unchanged if there is none.
func Remove(text, id string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if there, _ := split(line); there != id {
			rest.WriteString(line)
		}
	}
	return rest.String()
}
