// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	gojson "encoding/json"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/json"
)

// target is a resource, or a subresource, that a request writes.
type target struct {
	group, resource, subresource string
}

// shape is the type of the objects of a target. Every resource has version v1: the registration
// names that version, and the API server converts objects to it.
type shape struct {
	kind schema.GroupVersionKind
	make func() runtime.Object
	// untyped objects may have any version and are not converted.
	untyped bool
}

// version is the version of every resource that has rules.
const version = "v1"

type targets struct {
	typed   map[target]shape
	untyped func(schema.GroupResource) bool
}

// newTargets returns the table of everything that is decoded. untyped adds resources that the
// caller selects.
func newTargets(untyped func(schema.GroupResource) bool) targets {
	pod := shapeOf[corev1.Pod](corev1.SchemeGroupVersion, "Pod")
	node := shapeOf[corev1.Node](corev1.SchemeGroupVersion, "Node")
	claim := shapeOf[corev1.PersistentVolumeClaim](corev1.SchemeGroupVersion, "PersistentVolumeClaim")
	csiNode := shapeOf[storagev1.CSINode](storagev1.SchemeGroupVersion, "CSINode")
	signing := shapeOf[certificatesv1.CertificateSigningRequest](certificatesv1.SchemeGroupVersion,
		"CertificateSigningRequest")
	podCertificate := shapeOf[certificatesv1.PodCertificateRequest](certificatesv1.SchemeGroupVersion,
		"PodCertificateRequest")
	account := shapeOf[corev1.ServiceAccount](corev1.SchemeGroupVersion, "ServiceAccount")
	binding := shapeOf[corev1.Binding](corev1.SchemeGroupVersion, "Binding")
	typed := map[target]shape{
		{"", "pods", ""}:                         pod,
		{"", "pods", "status"}:                   pod,
		{"", "pods", "ephemeralcontainers"}:      pod,
		{"", "pods", "resize"}:                   pod,
		{"", "pods", "binding"}:                  binding,
		{"", "bindings", ""}:                     binding,
		{"", "serviceaccounts", ""}:              account,
		{"", "pods", "eviction"}:                 shapeOf[policyv1.Eviction](policyv1.SchemeGroupVersion, "Eviction"),
		{"", "nodes", ""}:                        node,
		{"", "nodes", "status"}:                  node,
		{"", "persistentvolumeclaims", ""}:       claim,
		{"", "persistentvolumeclaims", "status"}: claim,
		{"", "serviceaccounts",
			"token"}: shapeOf[authenticationv1.TokenRequest](authenticationv1.SchemeGroupVersion, "TokenRequest"),
		{"", "secrets", ""}:                shapeOf[corev1.Secret](corev1.SchemeGroupVersion, "Secret"),
		{"", "events", ""}:                 shapeOf[corev1.Event](corev1.SchemeGroupVersion, "Event"),
		{eventsv1.GroupName, "events", ""}: shapeOf[eventsv1.Event](eventsv1.SchemeGroupVersion, "Event"),
		{coordinationv1.GroupName, "leases", ""}: shapeOf[coordinationv1.Lease](coordinationv1.SchemeGroupVersion,
			"Lease"),
		{storagev1.GroupName, "csinodes", ""}:       csiNode,
		{storagev1.GroupName, "csinodes", "status"}: csiNode,
		{resourcev1.GroupName, "resourceslices", ""}: shapeOf[resourcev1.ResourceSlice](
			resourcev1.SchemeGroupVersion, "ResourceSlice"),
		{certificatesv1.GroupName, "certificatesigningrequests", ""}:         signing,
		{certificatesv1.GroupName, "certificatesigningrequests", "status"}:   signing,
		{certificatesv1.GroupName, "certificatesigningrequests", "approval"}: signing,
		{certificatesv1.GroupName, "podcertificaterequests", ""}:             podCertificate,
		{certificatesv1.GroupName, "podcertificaterequests", "status"}:       podCertificate,
	}
	return targets{typed, untyped}
}

// shapeFor returns how to decode the objects of a request. It is false if they are not decoded.
func (t targets) shapeFor(q *request) (shape, bool) {
	if what, known := t.typed[target{q.Resource.Group, q.Resource.Resource, q.SubResource}]; known {
		return what, true
	}
	if t.untyped == nil || !t.untyped(schema.GroupResource{Group: q.Resource.Group, Resource: q.Resource.Resource}) {
		return shape{}, false
	}
	return untypedShape(schema.GroupVersionKind(q.Kind)), true
}

func shapeOf[T any, P interface {
	*T
	runtime.Object
}](version schema.GroupVersion, kind string) shape {
	return shape{kind: version.WithKind(kind), make: func() runtime.Object { return P(new(T)) }}
}

// attributesOf decodes the objects that the operation has. It returns an error if one of them is
// missing. It ignores objects that the operation does not have.
func (t targets) attributesOf(q *request) (admission.Attributes, error) {
	needsObject, needsOld, err := objectsOf(q.Operation)
	switch {
	case err != nil:
		return nil, err
	case q.Resource.Resource == "":
		return nil, errors.New("resource is missing")
	case q.Kind.Kind == "":
		return nil, errors.New("kind is missing")
	}
	var object, old runtime.Object
	if what, known := t.shapeFor(q); known && (needsObject || needsOld) {
		if err := what.matches(q); err != nil {
			return nil, err
		}
		if object, err = what.decode("object", q.Object, needsObject); err != nil {
			return nil, err
		}
		if old, err = what.decode("oldObject", q.OldObject, needsOld); err != nil {
			return nil, err
		}
	}
	return admission.NewAttributesRecord(object, old, schema.GroupVersionKind(q.Kind), q.Namespace, q.Name,
		schema.GroupVersionResource(q.Resource), q.SubResource, q.Operation, nil, q.DryRun, q.user()), nil
}

func objectsOf(operation admission.Operation) (needsObject, needsOld bool, err error) {
	switch operation {
	case admission.Create:
		return true, false, nil
	case admission.Update:
		return true, true, nil
	case admission.Delete:
		return false, true, nil
	case admission.Connect:
		return false, false, nil
	default:
		return false, false, fmt.Errorf("operation %q is not known", operation)
	}
}

func (s shape) matches(q *request) error {
	if s.untyped {
		return nil
	}
	if q.Resource.Version != version {
		return fmt.Errorf("resource %s has version %q, want %s", q.Resource.Resource, q.Resource.Version, version)
	}
	if got := schema.GroupVersionKind(q.Kind); got != s.kind {
		return fmt.Errorf("kind is %v, want %v", got, s.kind)
	}
	return nil
}

// decode returns an object that shares no memory with data, or a nil interface if
// none is needed.
func (s shape) decode(name string, data raw, needed bool) (runtime.Object, error) {
	if !needed {
		return nil, nil
	}
	if data == nil {
		return nil, fmt.Errorf("%s is missing", name)
	}
	object := s.make()
	duplicates, err := json.UnmarshalStrict(data, into(object), json.DisallowDuplicateFields)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decoding %s: %s", name, whereIn(err))
	case len(duplicates) > 0:
		return nil, fmt.Errorf("decoding %s: %w", name, duplicates[0])
	}
	if got := object.GetObjectKind().GroupVersionKind(); got != s.kind {
		return nil, fmt.Errorf("%s is a %v, want %v", name, got, s.kind)
	}
	return object, nil
}

// untypedShape returns the shape for objects whose Go type the process does not know.
func untypedShape(kind schema.GroupVersionKind) shape {
	return shape{kind: kind, untyped: true, make: func() runtime.Object { return &unstructured.Unstructured{} }}
}

// into returns the value to decode into. The decoder of an Unstructured would look for a kind in
// its own way, so its map is used instead.
func into(object runtime.Object) any {
	if untyped, ok := object.(*unstructured.Unstructured); ok {
		return &untyped.Object
	}
	return object
}

// whereIn names the field that could not be decoded. It leaves out the value, because the value is
// part of an object and must not be logged.
func whereIn(err error) string {
	var wrong *gojson.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Sprintf("%s has a value that is not a %v", wrong.Field, wrong.Type)
	}
	return "it has a value of a wrong type"
}
