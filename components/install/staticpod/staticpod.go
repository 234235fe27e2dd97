// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package staticpod edits the manifest of a static pod as a tree. So it keeps fields that this
// version of the API does not know.
package staticpod

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Pod is a static pod. The methods edit one of its containers.
type Pod struct {
	object    map[string]any
	container int
}

// Parse reads a manifest and finds the named container.
func Parse(manifest []byte, container string) (*Pod, error) {
	asJSON, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return nil, fmt.Errorf("parsing static pod: %w", err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(asJSON, &object); err != nil {
		return nil, fmt.Errorf("parsing static pod: %w", err)
	}
	if kind := object["kind"]; kind != "Pod" {
		return nil, fmt.Errorf("parsing static pod: kind is %v, not Pod", kind)
	}
	p := &Pod{object: object}
	for i, c := range p.list("spec", "containers") {
		if c, ok := c.(map[string]any); ok && c["name"] == container {
			p.container = i
			return p, nil
		}
	}
	return nil, fmt.Errorf("parsing static pod: it has no container %q", container)
}

// YAML returns the manifest with a fixed order of fields.
func (p *Pod) YAML() ([]byte, error) { return yaml.Marshal(p.object) }

// Object returns the whole manifest as a tree. It is not a copy.
func (p *Pod) Object() map[string]any { return p.object }

// Command returns the container's command and args, with the program name.
func (p *Pod) Command() []string { return append(p.strings("command"), p.strings("args")...) }

// Args returns the flags in the container's command and args, without the program name.
func (p *Pod) Args() []string {
	return slices.DeleteFunc(p.Command(), func(s string) bool {
		return !strings.HasPrefix(s, "-")
	})
}

// Arg returns the value of --name=value. The last value counts, as in the program itself.
func (p *Pod) Arg(name string) (value string, set bool) {
	for _, arg := range p.Args() {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}

// SetArg sets --name, at its old position or at the end.
func (p *Pod) SetArg(name, value string) { p.ReplaceArg(name, name, value) }

// ReplaceArg replaces --old by --name=value. If --old is not set, it uses the position of --name,
// or the end.
func (p *Pod) ReplaceArg(old, name, value string) {
	key := p.argsKey()
	args := p.strings(key)
	at := slices.IndexFunc(args, func(s string) bool { return isFlag(s, old) })
	if at < 0 {
		at = slices.IndexFunc(args, func(s string) bool { return isFlag(s, name) })
	}
	p.DeleteArg(old)
	p.DeleteArg(name)
	args = p.strings(key)
	if at < 0 || at > len(args) {
		at = len(args)
	}
	p.setStrings(key, slices.Insert(args, at, "--"+name+"="+value))
}

// DeleteArg removes every --name and returns its old value.
func (p *Pod) DeleteArg(name string) (value string, had bool) {
	value, had = p.Arg(name)
	for _, key := range []string{"command", "args"} {
		if args := p.strings(key); args != nil {
			p.setStrings(key, slices.DeleteFunc(args, func(s string) bool { return isFlag(s, name) }))
		}
	}
	return value, had
}

// Image returns the container's image.
func (p *Pod) Image() string {
	image, _ := p.containerMap()["image"].(string)
	return image
}

// SetImage sets the container's image.
func (p *Pod) SetImage(image string) { p.containerMap()["image"] = image }

// Annotation returns one of the pod's annotations.
func (p *Pod) Annotation(key string) string {
	value, _, _ := unstructured.NestedString(p.object, "metadata", "annotations", key)
	return value
}

// SetAnnotation sets an annotation, or removes it if value is empty.
func (p *Pod) SetAnnotation(key, value string) error {
	if value != "" {
		return unstructured.SetNestedField(p.object, value, "metadata", "annotations", key)
	}
	unstructured.RemoveNestedField(p.object, "metadata", "annotations", key)
	if all, _, _ := unstructured.NestedMap(p.object, "metadata", "annotations"); len(all) == 0 {
		unstructured.RemoveNestedField(p.object, "metadata", "annotations")
	}
	return nil
}

// argsKey returns the field with the flags: args if the manifest uses it, otherwise command.
func (p *Pod) argsKey() string {
	if len(p.strings("args")) > 0 {
		return "args"
	}
	return "command"
}

func isFlag(arg, name string) bool {
	return arg == "--"+name || strings.HasPrefix(arg, "--"+name+"=")
}

func (p *Pod) containerMap() map[string]any {
	return p.list("spec", "containers")[p.container].(map[string]any)
}

func (p *Pod) strings(key string) []string {
	list, _, _ := unstructured.NestedStringSlice(p.containerMap(), key)
	return list
}

func (p *Pod) setStrings(key string, values []string) {
	_ = unstructured.SetNestedStringSlice(p.containerMap(), values, key)
}

func (p *Pod) list(path ...string) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(p.object, path...)
	list, _ := value.([]any)
	return list
}

// FlagValue returns the value of --name, after a space or an equals sign.
func FlagValue(args []string, name string) string {
	value := ""
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = v
		}
		if arg == "--"+name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}
