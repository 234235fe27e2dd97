// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// Parse reads an Installation in YAML or JSON, of at most 1 MiB. It is strict: an unknown or
// duplicate field is an error. The error lists the line of every problem, up to 20 problems.
func Parse(data []byte) (*Installation, error) {
	root, err := strictyaml.Parse(data)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(root); err != nil {
		return nil, err
	}
	i := &Installation{}
	lines, err := strictyaml.Decode(root, i)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, problem := range i.Validate() {
		errs = append(errs, fmt.Errorf("line %d: %w", lineOf(lines, problem.Field), problem))
	}
	if !i.NodePolicy.IsZero() {
		if _, err := configuration.ParseNode(&i.NodePolicy); err != nil {
			errs = append(errs, fmt.Errorf("nodePolicy: %w", err))
		}
	}
	return i, errors.Join(errs...)
}

// checkHeader comes first: the fields of another version are not known.
func checkHeader(root *yaml.Node) error {
	values := map[string]*yaml.Node{}
	if root.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(root.Content, 2) {
			values[pair[0].Value] = pair[1]
		}
	}
	p := strictyaml.Problems{}
	for _, want := range []struct{ field, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		switch value := values[want.field]; {
		case value == nil:
			p.Add(root, "%s is missing; it must be %s", want.field, want.value)
		case value.Value != want.value:
			p.Add(value, "%s is %q; this program supports only %s", want.field, strictyaml.Shorten(value.Value), want.value)
		}
	}
	return p.Err()
}

// lineOf returns the line of a field, or of the closest field around it.
func lineOf(lines map[string]int, path string) int {
	for path != "" {
		if line, ok := lines[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return lines[""]
}

// Validate returns all invalid fields. It does not check nodePolicy, which Parse does.
func (i *Installation) Validate() field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, oneOf(field.NewPath("profile"), i.Profile, profiles)...)
	errs = append(errs, i.Rules.validate(field.NewPath("rules"))...)
	errs = append(errs, i.Certificates.validate(field.NewPath("certificates"))...)
	errs = append(errs, i.NodeScope.validate(field.NewPath("nodeScope"))...)
	errs = append(errs, positive(field.NewPath("timeout"), i.Timeout)...)
	if i.Profile == inTree && !reflect.DeepEqual(*i, Installation{APIVersion: i.APIVersion, Kind: i.Kind,
		Profile: i.Profile, Timeout: i.Timeout}) {
		errs = append(errs, field.Invalid(field.NewPath("profile"), i.Profile,
			"has no components: remove all fields except profile and timeout"))
	}
	return errs
}

// Policy returns the configuration of node-restriction as a file, or nil if there is none.
func (i *Installation) Policy() ([]byte, error) {
	if i.NodePolicy.IsZero() {
		return nil, nil
	}
	return encode(&i.NodePolicy)
}

// SetPolicy sets the configuration of node-restriction from the content of its file.
func (i *Installation) SetPolicy(file []byte) error {
	root, err := strictyaml.Parse(file)
	if err == nil {
		i.NodePolicy = *root
	}
	return err
}

// Marshal returns the file. Absent fields stay absent. The fields have the order of the type.
func (i *Installation) Marshal() ([]byte, error) {
	policy := i.NodePolicy
	rest := *i
	rest.NodePolicy = yaml.Node{}
	text, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	// JSON is YAML. The node keeps the order of the fields, but has the style of JSON.
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	root := document.Content[0]
	if err := plainStyle(root); err != nil {
		return nil, err
	}
	if !policy.IsZero() {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "nodePolicy"}, &policy)
	}
	return encode(root)
}

// plainStyle removes the style of JSON. Strings such as "off", which other programs read as a
// boolean, keep their quotes.
func plainStyle(n *yaml.Node) error {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return n.Encode(n.Value)
	}
	for _, child := range n.Content {
		if err := plainStyle(child); err != nil {
			return err
		}
	}
	return nil
}

func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Diff returns one line for each field with another value in want than in have, in the order of the
// names.
func Diff(have, want *Installation) ([]string, error) {
	before, err := have.flatten()
	if err != nil {
		return nil, err
	}
	after, err := want.flatten()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before[path] != after[path] {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", path, orDefault(before[path]), orDefault(after[path])))
		}
	}
	return lines, nil
}

func orDefault(value string) string {
	if value == "" {
		return "(default)"
	}
	return value
}

// flatten returns the value of each field by its path.
func (i *Installation) flatten() (map[string]string, error) {
	data, err := i.Marshal()
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	values := map[string]string{}
	flatten(document.Content[0], "", values)
	return values, nil
}

func flatten(n *yaml.Node, path string, into map[string]string) {
	switch {
	case len(n.Content) > 0 && n.Kind == yaml.MappingNode:
		for pair := range slices.Chunk(n.Content, 2) {
			flatten(pair[1], strings.TrimPrefix(path+"."+pair[0].Value, "."), into)
		}
	case len(n.Content) > 0:
		for index, element := range n.Content {
			flatten(element, fmt.Sprintf("%s[%d]", path, index), into)
		}
	case n.Kind == yaml.MappingNode:
		into[path] = "{}"
	case n.Kind == yaml.SequenceNode:
		into[path] = "[]"
	default:
		into[path] = fmt.Sprintf("%q", n.Value)
	}
}

func positive(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d != nil && d.Duration <= 0 {
		return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be more than 0")}
	}
	return nil
}
