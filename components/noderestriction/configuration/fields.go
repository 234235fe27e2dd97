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

// file has the fields of the file. A list that is absent is nil. An empty list is not.
type file struct {
	APIVersion         string         `json:"apiVersion"`
	Kind               string         `json:"kind"`
	AllowedLabels      []string       `json:"allowedLabels"`
	ChangeableLabels   []string       `json:"changeableLabels"`
	AllowedTaints      []string       `json:"allowedTaints"`
	ChangeableTaints   []string       `json:"changeableTaints"`
	StickyTaints       []string       `json:"stickyTaints"`
	Machines           []machineRow   `json:"machines"`
	MirrorPods         mirrorPods     `json:"mirrorPods"`
	NodeAnnotations    []string       `json:"nodeAnnotations"`
	Caps               Caps           `json:"caps"`
	MaxTokenSeconds    int64          `json:"maxTokenSeconds"`
	BootstrapNodeNames []bootstrapRow `json:"bootstrapNodeNames"`
}

type mirrorPods struct {
	Mode                       string   `json:"mode"`
	RequireNamespaceAnnotation bool     `json:"requireNamespaceAnnotation"`
	AllowUnrestrictedPrefix    bool     `json:"allowUnrestrictedPrefix"`
	AllowedLabelKeys           []string `json:"allowedLabelKeys"`
	DeniedLabelKeys            []string `json:"deniedLabelKeys"`
	AllowedAnnotations         []string `json:"allowedAnnotations"`
}

// validator checks the values of a file. It continues after a problem, to report all of them.
type validator struct {
	strictyaml.Problems
	// lines has the line of every field of the file, by its path.
	lines map[string]int
}

// add adds a problem of the field at a path. The message begins with the path.
func (v *validator) add(path, format string, args ...any) {
	v.Add(&yaml.Node{Line: v.lines[path]}, "%s"+format, append([]any{path}, args...)...)
}

// valid adds the problem of a value, and reports whether there is none. wrong is the problem, or "".
func (v *validator) valid(path, value, wrong string) bool {
	if wrong != "" {
		v.add(path, ": %q %s", strictyaml.Shorten(value), wrong)
	}
	return wrong == ""
}

// has reports whether the file has a field.
func (v *validator) has(path string) bool {
	_, found := v.lines[path]
	return found
}

func (v *validator) configuration(f *file, c *Configuration) {
	c.AllowedLabels = v.keys("allowedLabels", f.AllowedLabels, labelKeys, centrallySet)
	c.ChangeableLabels = v.keys("changeableLabels", f.ChangeableLabels, labelKeys, centrallySet)
	c.AllowedTaints = v.keys("allowedTaints", f.AllowedTaints, labelKeys, centrallySet)
	c.ChangeableTaints = v.keys("changeableTaints", f.ChangeableTaints, labelKeys, setByOthers)
	c.StickyTaints = v.keys("stickyTaints", f.StickyTaints, stickyKeys, ofTheControlPlane)
	c.Machines = v.machines(f.Machines)
	v.mirrorPods(&f.MirrorPods, &c.MirrorPods)
	c.Annotations = v.keys("nodeAnnotations", f.NodeAnnotations, annotationKeys, reservation{})
	c.Caps = f.Caps
	v.atMost("caps.mirrorPods", c.Caps.MirrorPods)
	v.atMost("caps.resourceSlices", c.Caps.ResourceSlices)
	v.atMost("caps.podCertificateRequests", c.Caps.PodCertificateRequests)
	v.atMost("caps.certificateSigningRequests", c.Caps.CertificateSigningRequests)
	c.MaxTokenSeconds = f.MaxTokenSeconds
	if c.MaxTokenSeconds != 0 && (c.MaxTokenSeconds < leastToken || c.MaxTokenSeconds > mostToken) {
		v.add("maxTokenSeconds", " must be 0, or a number from %d to %d", leastToken, mostToken)
	}
	c.BootstrapNames = v.bootstrapNames(f.BootstrapNodeNames)
}

func (v *validator) atMost(path string, objects int) {
	if objects < 0 || objects > mostObjects {
		v.add(path, " must be a number from 0 to %d", mostObjects)
	}
}

var gates = map[string]Gate{"off": Off, "warn": Warn, "enforce": Enforce}

func (v *validator) mirrorPods(f *mirrorPods, into *MirrorPods) {
	gate, known := gates[f.Mode]
	switch {
	case v.has("mirrorPods") && !v.has("mirrorPods.mode"):
		v.add("mirrorPods", " needs a mode: off, warn or enforce")
	case v.has("mirrorPods.mode") && !known:
		v.add("mirrorPods.mode", " is %q; it must be off, warn or enforce", strictyaml.Shorten(f.Mode))
	}
	into.Gate = gate
	into.RequireNamespace, into.UnrestrictedPrefix = f.RequireNamespaceAnnotation, f.AllowUnrestrictedPrefix
	into.AllowedLabelKeys = v.keys("mirrorPods.allowedLabelKeys", f.AllowedLabelKeys, labelKeys, reservation{})
	if f.DeniedLabelKeys != nil {
		into.DeniedLabelKeys = v.keys("mirrorPods.deniedLabelKeys", f.DeniedLabelKeys, labelKeys, reservation{})
	}
	into.AllowedAnnotations = v.keys("mirrorPods.allowedAnnotations", f.AllowedAnnotations, annotationKeys, reservation{})
}
