// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

const (
	mostObjects = 1_000_000
	// leastToken is the shortest lifetime in seconds that the API server gives a token. mostToken
	// is the longest that a client can request.
	leastToken, mostToken = 600, 1 << 32
)

// configuration decodes the whole file. It does not decode the fields of another kind, because all
// of them would be unknown.
func (d *decoder) configuration(n *yaml.Node, c *Configuration) {
	if !d.isOurs(n) {
		return
	}
	nothing := func(*yaml.Node, string) {}
	d.object(n, "", map[string]field{
		"apiVersion":       nothing,
		"kind":             nothing,
		"allowedLabels":    d.keys(&c.AllowedLabels, labelKeys, centrallySet),
		"changeableLabels": d.keys(&c.ChangeableLabels, labelKeys, centrallySet),
		"allowedTaints":    d.keys(&c.AllowedTaints, labelKeys, centrallySet),
		"changeableTaints": d.keys(&c.ChangeableTaints, labelKeys, setByOthers),
		"stickyTaints":     d.keys(&c.StickyTaints, stickyKeys, ofTheControlPlane),
		"machines":         func(n *yaml.Node, path string) { c.Machines = d.machines(n, path) },
		"mirrorPods":       func(n *yaml.Node, path string) { d.mirrorPods(n, path, &c.MirrorPods) },
		"nodeAnnotations":  d.keys(&c.Annotations, annotationKeys, reservation{}),
		"caps":             func(n *yaml.Node, path string) { d.caps(n, path, &c.Caps) },
		"maxTokenSeconds":  func(n *yaml.Node, path string) { d.maxToken(n, path, &c.MaxTokenSeconds) },
		"bootstrapNodeNames": func(n *yaml.Node, path string) {
			c.BootstrapNames = d.bootstrapNames(n, path)
		},
	})
}

// isOurs checks the group, version and kind.
func (d *decoder) isOurs(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		d.Add(n, "the file must be an object of apiVersion %s and kind %s", apiVersion, kind)
		return false
	}
	before := d.Len()
	for _, want := range []struct{ field, value string }{{"apiVersion", apiVersion}, {"kind", kind}} {
		switch value := valueOf(n, want.field); {
		case value == nil:
			d.Add(n, "%s is missing; it must be %s", want.field, want.value)
		case value.Value != want.value:
			d.Add(value, "%s is %q; it must be %s", want.field, strictyaml.Shorten(value.Value), want.value)
		}
	}
	return d.Len() == before
}

func valueOf(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func (d *decoder) mirrorPods(n *yaml.Node, path string, into *MirrorPods) {
	seen := d.object(n, path, map[string]field{
		"mode":                       func(n *yaml.Node, path string) { d.gate(n, path, &into.Gate) },
		"requireNamespaceAnnotation": d.flag(&into.RequireNamespace),
		"allowUnrestrictedPrefix":    d.flag(&into.UnrestrictedPrefix),
		"allowedLabelKeys":           d.keys(&into.AllowedLabelKeys, labelKeys, reservation{}),
		"deniedLabelKeys":            d.keys(&into.DeniedLabelKeys, labelKeys, reservation{}),
		"allowedAnnotations":         d.keys(&into.AllowedAnnotations, annotationKeys, reservation{}),
	})
	if n.Kind == yaml.MappingNode && !seen["mode"] {
		d.Add(n, "%s needs a mode: off, warn or enforce", path)
	}
}

var gates = map[string]Gate{"off": Off, "warn": Warn, "enforce": Enforce}

func (d *decoder) gate(n *yaml.Node, path string, into *Gate) {
	gate, known := gates[n.Value]
	if n.Kind != yaml.ScalarNode || !known {
		d.Add(n, "%s is %q; it must be off, warn or enforce", path, strictyaml.Shorten(n.Value))
		return
	}
	*into = gate
}

func (d *decoder) caps(n *yaml.Node, path string, into *Caps) {
	upTo := func(into *int) field {
		return func(n *yaml.Node, path string) {
			if value, ok := d.number(n, path, 0, mostObjects); ok {
				*into = int(value)
			}
		}
	}
	d.object(n, path, map[string]field{
		"mirrorPods":                 upTo(&into.MirrorPods),
		"resourceSlices":             upTo(&into.ResourceSlices),
		"podCertificateRequests":     upTo(&into.PodCertificateRequests),
		"certificateSigningRequests": upTo(&into.CertificateSigningRequests),
	})
}

func (d *decoder) maxToken(n *yaml.Node, path string, into *int64) {
	if n.Kind == yaml.ScalarNode && n.Value == "0" {
		*into = 0
		return
	}
	if value, ok := d.number(n, path, leastToken, mostToken); ok {
		*into = value
	}
}
