// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopelist reads and replaces the list of accounts whose requests an API server sends
// to node scope. It also encodes the status records of scope-sync ([Record]).
//
// The list is in two files:
//
//   - the AuthorizationConfiguration, in the match condition of its entry [EntryName];
//   - a ValidatingWebhookConfiguration from disk, in that of its webhook [EntryName].
//
// The installer creates both files from templates. This package changes only the list between
// the brackets of one expression. Everything else stays byte for byte, comments and order
// included. If a file differs from the template in a way that matters, the result is an error,
// and the file is not changed. A user who can write these files can do anything in the cluster,
// so an administrator must check such a file.
//
// # The expression never fails
//
// With failurePolicy Deny, an error in a match condition denies every request. So both
// expressions check that there is a user name before they use it. The operator "in" has a value
// for every list; for an empty list it is false. The names in the list are names of Kubernetes
// objects, so they have no character that could end a string.
package scopelist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// MaxBytes is the maximum size of a file. A full list needs an eighth of it.
const MaxBytes = 1 << 20

// Read returns the accounts in the list of a file, sorted. It returns an error if [Replace]
// could not write to the file.
func Read(kind *Kind, file []byte) ([]Account, error) {
	d, err := parse(kind, file)
	if err != nil {
		return nil, err
	}
	return d.accounts, nil
}

// Replace returns the file with these accounts in its list, sorted and without duplicates.
// Everything else stays byte for byte. If the list already has these accounts, the result
// equals file. file is not modified. The same input gives the same output.
func Replace(kind *Kind, file []byte, accounts []Account) ([]byte, error) {
	sorted, err := inOrder(accounts)
	if err != nil {
		return nil, err
	}
	before, err := parse(kind, file)
	if err != nil {
		return nil, err
	}
	if slices.Equal(before.accounts, sorted) {
		return bytes.Clone(file), nil
	}
	from, to, indent, err := before.list(file)
	if err != nil {
		return nil, err
	}
	replaced := slices.Concat(file[:from], []byte(render(sorted, indent)), file[to:])
	after, err := parse(kind, replaced)
	if err != nil {
		return nil, fmt.Errorf("the list cannot be replaced: %w", err)
	}
	if !slices.Equal(after.accounts, sorted) || !reflect.DeepEqual(before.rest, after.rest) {
		return nil, errors.New("the list cannot be replaced without changing something else")
	}
	return replaced, nil
}

// document is a parsed file.
type document struct {
	accounts   []Account
	expression *yaml.Node
	// rest is the content of the file without the list.
	rest any
}

func parse(kind *Kind, file []byte) (*document, error) {
	root, err := rootOf(file)
	if err != nil {
		return nil, err
	}
	conditions, err := kind.conditions(root)
	if err != nil {
		return nil, err
	}
	if n := len(items(conditions)); n != 1 {
		return nil, fmt.Errorf("entry %s has %d match conditions, want 1", EntryName, n)
	}
	expression := field(items(conditions)[0], "expression")
	accounts, err := kind.parse(scalar(expression))
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", EntryName, err)
	}
	d := &document{accounts: accounts, expression: expression}
	text := expression.Value
	expression.Value = ""
	err = root.Decode(&d.rest)
	expression.Value = text
	return d, err
}

// rootOf returns the content of the only document in a file.
func rootOf(file []byte) (*yaml.Node, error) {
	if len(file) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes, and there is room for %d", len(file), MaxBytes)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(file))
	var whole, more yaml.Node
	if err := decoder.Decode(&whole); err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	if hasReferences(&whole) {
		return nil, errors.New("the file has anchors or aliases: what is in one place would change in another")
	}
	if len(whole.Content) != 1 {
		return nil, errors.New("the file is empty")
	}
	return whole.Content[0], nil
}

func hasReferences(node *yaml.Node) bool {
	return node.Anchor != "" || node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, hasReferences)
}

// list finds the text between the brackets of the expression, and the indentation of its lines.
// It uses the first bracket after the start of the expression. That bracket is wrong only if a
// comment comes between. Then the result differs from the request, and Replace returns an
// error.
func (d *document) list(file []byte) (from, to int, indent string, err error) {
	if d.expression.Style&yaml.SingleQuotedStyle != 0 {
		return 0, 0, "", fmt.Errorf(
			"the expression of entry %s is in single quotes, which its strings have as well: write it without", EntryName)
	}
	begin := offset(file, d.expression.Line, d.expression.Column)
	open := bytes.IndexByte(file[begin:], '[')
	if open < 0 {
		return 0, 0, "", fmt.Errorf("the list of entry %s is not where its expression is", EntryName)
	}
	from = begin + open + 1
	length := bytes.IndexByte(file[from:], ']')
	if length < 0 {
		return 0, 0, "", fmt.Errorf("the list of entry %s has no end", EntryName)
	}
	return from, from + length, indentAt(file, from), nil
}

// offset returns the byte offset of a line and a column. Both start at 1; columns count
// characters.
func offset(file []byte, line, column int) int {
	at := 0
	for range line - 1 {
		end := bytes.IndexByte(file[at:], '\n')
		if end < 0 {
			return len(file)
		}
		at += end + 1
	}
	for i := range string(file[at:]) {
		if column--; column == 0 {
			return at + i
		}
	}
	return len(file)
}

// indentAt returns the indentation for the list: that of the line with the opening bracket,
// list dashes included, plus two.
func indentAt(file []byte, place int) string {
	line := file[bytes.LastIndexByte(file[:place], '\n')+1 : place]
	text := bytes.TrimLeft(line, " -")
	return strings.Repeat(" ", len(line)-len(text)+2)
}
