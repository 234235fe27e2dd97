// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package revocationlist

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
)

// IDOf is the credential ID of a client certificate.
func IDOf(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return "X509SHA256=" + hex.EncodeToString(sum[:])
}

// Entry is a line with an ID.
type Entry struct {
	ID      string `json:"id"`
	Comment string `json:"comment,omitempty"`
}

// Entries are the lines with an ID, valid or not, in their order.
func Entries(text string) []Entry {
	var entries []Entry
	for line := range strings.Lines(text) {
		if id, comment := split(line); id != "" {
			entries = append(entries, Entry{id, comment})
		}
	}
	return entries
}

// Add appends an ID. It returns text itself if that has the ID already.
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

// Remove removes the lines with the ID. It returns text itself if there is none.
func Remove(text, id string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if there, _ := split(line); there != id {
			rest.WriteString(line)
		}
	}
	return rest.String()
}
