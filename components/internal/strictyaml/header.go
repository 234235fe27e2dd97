// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// CheckHeader returns an error if the document has another apiVersion or kind. Call it before
// [Decode]: the fields of another version are not known.
func CheckHeader(root *yaml.Node, apiVersion, kind string) error {
	p := Problems{}
	if root.Kind != yaml.MappingNode {
		p.Add(root, "the file must be an object with apiVersion %s and kind %s", apiVersion, kind)
		return p.Err()
	}
	values := map[string]*yaml.Node{}
	for pair := range slices.Chunk(root.Content, 2) {
		values[pair[0].Value] = pair[1]
	}
	for _, want := range []struct{ field, value string }{{"apiVersion", apiVersion}, {"kind", kind}} {
		switch value := values[want.field]; {
		case value == nil:
			p.Add(root, "%s is missing; it must be %s", want.field, want.value)
		case value.Value != want.value:
			p.Add(value, "%s is %q; this program supports only %s", want.field, Shorten(value.Value), want.value)
		}
	}
	return p.Err()
}
