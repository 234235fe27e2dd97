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

// Declaration says where the objects of a custom resource name the node that they
// belong to. It is the word of an administrator: whoever may change that place in an
// object moves it to another node.
type Declaration struct {
	// Resource has no subresource.
	Resource Resource
	// Field is a path that the resource's definition lists in its selectableFields, such
	// as "spec.nodeName", or metadata.name; it is empty if the node is in a label.
	Field string
	// Label is the key of a label; it is empty if the node is in a field.
	Label string
}

// ownName is the field of resources whose objects are named as their nodes.
const ownName = "metadata.name"

// Declarations are those of all resources. The zero value declares none. They do not
// change, and are safe for concurrent use.
type Declarations struct {
	byResource map[Resource]Declaration
}

// Of finds the declaration of a resource or of what it is a subresource of.
func (d Declarations) Of(r Resource) (Declaration, bool) {
	r.Subresource = ""
	declared, ok := d.byResource[r]
	return declared, ok
}

// NodeIn is the node that an object names at the declared place. It is empty if there is
// nothing there, or nothing that is a name.
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

// ParseDeclarations reads entries with commas between them:
//
//	blockaffinities.crd.projectcalico.org=field:spec.node
//	ciliumnodes.cilium.io=field:metadata.name
//	widgets.example.com=label:example.com/node
//
// A resource of an API group that Kubernetes has itself is refused: the node authorizer
// has the rules for those. Every problem is an error, and there are no declarations
// then. The cost is bounded by [MaxValueLength].
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

// checkField admits names of fields with dots between them.
func checkField(path string) error {
	for name := range strings.SplitSeq(path, ".") {
		if len(validation.IsCIdentifier(name)) > 0 {
			return errField
		}
	}
	return nil
}

// builtIn are the groups of Kubernetes' own that look like somebody else's. Those
// without a dot are all Kubernetes' own.
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
