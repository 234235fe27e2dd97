// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads configuration files in YAML or JSON. It reports every problem with its
// line. It is strict: unknown fields, duplicate fields, values of another type, anchors, aliases and
// tags are errors.
package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxBytes is the size of the largest valid file, in bytes.
const MaxBytes = 1 << 20

// Parse returns the YAML document of a file. It does not check the fields. A file must have exactly
// one document, without anchors, aliases and tags.
func Parse(data []byte) (*yaml.Node, error) { return ParseUpTo(data, MaxBytes) }

// ParseUpTo is [Parse] with another limit of the size.
func ParseUpTo(data []byte, maxBytes int) (*yaml.Node, error) {
	root, err := document(data, maxBytes)
	if err != nil {
		return nil, err
	}
	p := &Problems{}
	p.checkPlain(root)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return root, nil
}

func document(data []byte, maxBytes int) (*yaml.Node, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("is %d bytes long, which is more than %d", len(data), maxBytes)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("line %d: is not UTF-8", lineAt(data, invalidAt(data)))
	}
	if json.Valid(data) {
		// YAML accepts JSON, except for tabs. In valid JSON, tabs are only between tokens.
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF), err == nil && isNothing(&first):
		return nil, errors.New("is empty")
	case err != nil:
		return nil, explain(data, err)
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return first.Content[0], nil
	case err != nil:
		return nil, explain(data, err)
	}
	return nil, fmt.Errorf("line %d: begins another document; there must be one", second.Line)
}

func isNothing(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

func invalidAt(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(data)
}

func lineAt(data []byte, offset int) int { return bytes.Count(data[:offset], []byte("\n")) + 1 }
