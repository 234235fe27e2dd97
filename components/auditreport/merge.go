// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Merge returns a copy of the Installation with mode enforce and with the fields of all entries.
// profilePolicy is the configuration that profile hardened has if nodePolicy is absent. skipped are
// entries with a field that is not merged, with the reason.
func Merge(base *installation.Installation, profilePolicy []byte, entries []Entry) (merged *installation.Installation,
	skipped []string, err error) {
	text, err := base.Marshal()
	if err != nil {
		return nil, nil, err
	}
	merged, err = installation.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot copy the Installation: %w", err)
	}
	merged.Mode = rules.Enforce.String()
	m := merger{c: merged, profilePolicy: profilePolicy}
	for _, e := range entries {
		for _, f := range e.Setting.Fields {
			reason, err := m.merge(f, string(e.Rule))
			if err != nil {
				return nil, nil, err
			}
			if reason != "" {
				if e.Setting.Then != "" && !strings.HasSuffix(reason, notDenied) {
					reason += ". " + e.Setting.Then
				}
				skipped = append(skipped, fmt.Sprintf("%s: %s is not in this file: %s", e.Rule, f, reason))
			}
		}
	}
	return merged, skipped, nil
}

// notDenied is the end of a reason if the requests need no setting.
const notDenied = ", so it does not deny this"

type merger struct {
	c             *installation.Installation
	profilePolicy []byte
}

// merge returns why it has left out the field. The comment is for entries of lists.
func (m *merger) merge(f Field, comment string) (reason string, err error) {
	section, name, _ := strings.Cut(f.Path, ".")
	switch section {
	case "serviceAccountTokens":
		m.c.ServiceAccountTokens.ExtendExpiration = true
		return "", nil
	case "kubeletAPI":
		m.c.KubeletAPI.LoopbackClients = f.Value
		return "", nil
	case "rules":
		m.setMode(strings.TrimPrefix(name, "modes."), f.Value)
		return "", nil
	}
	return m.mergePolicy(strings.Split(name, "."), f, comment)
}

// setMode keeps the mode off: it allows as much.
func (m *merger) setMode(id, mode string) {
	if m.c.Rules.Modes == nil {
		m.c.Rules.Modes = map[string]string{}
	}
	if m.c.Rules.Modes[id] != rules.Off.String() {
		m.c.Rules.Modes[id] = mode
	}
}

func (m *merger) mergePolicy(names []string, f Field, comment string) (reason string, err error) {
	if m.c.NodePolicy.IsZero() {
		if m.c.Profile == "parity" {
			return "parity has no nodePolicy by default" + notDenied, nil
		}
		if err := m.c.SetPolicy(m.profilePolicy); err != nil {
			return "", fmt.Errorf("cannot read the configuration of the profile: %w", err)
		}
	}
	at := &m.c.NodePolicy
	for _, name := range names[:len(names)-1] {
		if at = valueOf(at, name); at == nil {
			return "nodePolicy has no " + name + notDenied, nil
		}
	}
	name := names[len(names)-1]
	list := valueOf(at, name)
	if list == nil {
		if f.narrows {
			return "nodePolicy has no " + name + notDenied, nil
		}
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, list)
	}
	if reason = patternsOver(list, f); reason == "" {
		edit(list, f, comment)
	}
	return reason, nil
}

// patternsOver returns the reason if the list still has a key after all of its own entries are
// removed. What a pattern is to be replaced with is the administrator's choice.
func patternsOver(list *yaml.Node, f Field) string {
	var keys, patterns []string
	for _, key := range f.Remove {
		for _, n := range list.Content {
			beginning, open := strings.CutSuffix(n.Value, "*")
			if open && strings.HasPrefix(key, beginning) {
				keys, patterns = append(keys, key), append(patterns, n.Value)
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(patterns)
	return fmt.Sprintf("a pattern covers %s: replace %s in %s", strings.Join(slices.Compact(keys), ", "),
		strings.Join(slices.Compact(patterns), ", "), f.Path)
}

func edit(list *yaml.Node, f Field, comment string) {
	list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return slices.Contains(f.Remove, n.Value) })
	for _, key := range f.Add {
		if slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return n.Value == key }) {
			continue
		}
		entry := &yaml.Node{LineComment: "# " + comment}
		entry.SetString(key)
		list.Content = append(list.Content, entry)
	}
	list.Style = 0
	if len(list.Content) == 0 {
		list.Style = yaml.FlowStyle
	}
}

// valueOf returns a field of a mapping, or nil.
func valueOf(mapping *yaml.Node, name string) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	for pair := range slices.Chunk(mapping.Content, 2) {
		if len(pair) == 2 && pair[0].Value == name {
			return pair[1]
		}
	}
	return nil
}
