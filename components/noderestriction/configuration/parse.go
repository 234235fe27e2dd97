// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	apiVersion = "noderestriction.admission.k8s.io/v1"
	kind       = "Configuration"
	// MaxBytes is the size of the largest valid file, in bytes.
	MaxBytes = 1 << 20
)

// Parse parses a policy in YAML or JSON. It is strict: an unknown or duplicate field is an error.
// The error lists the line of every problem, up to 20 problems.
func Parse(data []byte) (*Configuration, error) {
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	d.plain(root)
	if len(d.problems) > 0 {
		return nil, d.err()
	}
	c := Defaults()
	d.configuration(root, c)
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// document returns the YAML document of a file. It does not check the fields. A file must have
// exactly one document.
func document(data []byte) (*yaml.Node, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("is %d bytes long, which is more than %d", len(data), MaxBytes)
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
