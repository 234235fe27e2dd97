// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Declaration says where the objects of a custom resource name the node that they belong to. An
// administrator provides it. A user who can change that place in an object can move the object
// to another node.
type Declaration struct {
	// Resource has no subresource.
	Resource Resource
	// Field is a path in the selectableFields of the resource's definition, such as
	// "spec.nodeName", or metadata.name. It is empty if a label names the node.
	Field string
	// Label is the key of a label. It is empty if a field names the node.
	Label string
}

// ownName is the field of resources whose objects have the name of their node.
const ownName = "metadata.name"

// Declarations are the declarations of all resources. The zero value declares none.
// Declarations are immutable, and safe for concurrent use.
type Declarations struct {
	byResource map[Resource]Declaration
}

// Of returns the declaration of a resource. For a subresource, it returns the declaration of
// the parent resource.
func (d Declarations) Of(r Resource) (Declaration, bool) {
	r.Subresource = ""
	declared, ok := d.byResource[r]
	return declared, ok
}

// NodeIn returns the node that an object names at the declared place. It is empty if the place
// does not exist or is not a string.
func (d Declaration) NodeIn(object map[string]any) string {
	path := []string{"metadata", "labels", d.Label}
	if d.Label == "" {
		path = strings.Split(d.Field, ".")
	}
	var at any = object
	for _, name := range path {
		fields, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = fields[name]
	}
	node, _ := at.(string)
	return node
}

// ParseDeclarations parses a comma-separated list of entries:
//
//	blockaffinities.crd.projectcalico.org=field:spec.node
//	ciliumnodes.cilium.io=field:metadata.name
//	widgets.example.com=label:example.com/node
//
// It rejects a resource of an API group of Kubernetes itself: the node authorizer has rules for
// those. If one entry is not valid, it returns an error and no declarations. [MaxValueLength]
// limits the cost.
func ParseDeclarations(value string) (Declarations, error) {
	d := Declarations{byResource: map[Resource]Declaration{}}
	if err := eachEntry(value, d.add); err != nil {
		return Declarations{}, fmt.Errorf("custom resources of nodes: %w", err)
	}
	return d, nil
}

var (
	errDeclaration = errors.New("want resource.group=field:path or resource.group=label:key")
	errField       = errors.New("the field is no path such as spec.nodeName")
	errBuiltIn     = errors.New("the resource is not a custom one")
	errTwice       = errors.New("the resource is declared twice")
)

func (d Declarations) add(entry string) error {
	resource, place, _ := strings.Cut(entry, "=")
	r, err := parseResource(resource)
	if err != nil || r.Subresource != "" {
		return errDeclaration
	}
	if isBuiltIn(r.Group) {
		return errBuiltIn
	}
	if _, known := d.byResource[r]; known {
		return errTwice
	}
	declared := Declaration{Resource: r}
	kind, at, _ := strings.Cut(place, ":")
	switch kind {
	case "field":
		declared.Field, err = at, checkField(at)
	case "label":
		declared.Label, err = at, checkLabel(at)
	default:
		err = errDeclaration
	}
	d.byResource[r] = declared
	return err
}

func checkLabel(key string) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return errors.New(problems[0])
	}
	return nil
}

// checkField accepts field names separated by dots.
func checkField(path string) error {
	for name := range strings.SplitSeq(path, ".") {
		if len(validation.IsCIdentifier(name)) > 0 {
			return errField
		}
	}
	return nil
}

// builtIn are the API groups of Kubernetes with a dot in the name. All groups without a dot
// belong to Kubernetes too.
var builtIn = []string{
	"admission.k8s.io", "admissionregistration.k8s.io", "apidiscovery.k8s.io", "apiextensions.k8s.io",
	"apiregistration.k8s.io",
	"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
	"events.k8s.io",
	"flowcontrol.apiserver.k8s.io", "imagepolicy.k8s.io", "internal.apiserver.k8s.io", "lifecycle.k8s.io",
	"metrics.k8s.io", "networking.k8s.io", "node.k8s.io",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains(builtIn, group)
}
