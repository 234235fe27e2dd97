// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// everyObject is the heading of the rows that count for all types.
const everyObject = "Every object"

// writtenByNodes are the types that a node writes, under the headings of the page.
var writtenByNodes = map[string]reflect.Type{
	"Node":                      reflect.TypeFor[corev1.Node](),
	"Pod":                       reflect.TypeFor[corev1.Pod](),
	"Eviction":                  reflect.TypeFor[policyv1.Eviction](),
	"Event of v1":               reflect.TypeFor[corev1.Event](),
	"Event of events.k8s.io":    reflect.TypeFor[eventsv1.Event](),
	"Lease":                     reflect.TypeFor[coordinationv1.Lease](),
	"CSINode":                   reflect.TypeFor[storagev1.CSINode](),
	"ResourceSlice":             reflect.TypeFor[resourcev1.ResourceSlice](),
	"PersistentVolumeClaim":     reflect.TypeFor[corev1.PersistentVolumeClaim](),
	"TokenRequest":              reflect.TypeFor[authenticationv1.TokenRequest](),
	"CertificateSigningRequest": reflect.TypeFor[certificatesv1.CertificateSigningRequest](),
	"PodCertificateRequest":     reflect.TypeFor[certificatesv1.PodCertificateRequest](),
}

// metadata has the fields of every object.
type metadata struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
}

// fieldsOf are the paths of all leaves of a type of the API, as JSON spells them, in
// order. An element of a list is [], a value of a map {}.
func fieldsOf(t reflect.Type) []string {
	var all []string
	leaves(t, "", func(path string) { all = append(all, path) })
	slices.Sort(all)
	return all
}

func leaves(t reflect.Type, path string, add func(string)) {
	if isLeaf(t) {
		add(path)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		leaves(t.Elem(), path, add)
	case reflect.Slice, reflect.Array:
		leaves(t.Elem(), path+"[]", add)
	case reflect.Map:
		leaves(t.Elem(), path+"{}", add)
	default:
		for i := range t.NumField() {
			leavesOfField(t.Field(i), path, add)
		}
	}
}

// leavesOfField knows that a field without a name of its own is a part of the struct
// that it is in.
func leavesOfField(f reflect.StructField, path string, add func(string)) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-" || !f.IsExported():
		return
	case name != "" && path != "":
		path += "." + name
	case name != "":
		path = name
	}
	leaves(f.Type, path, add)
}

// isLeaf is true for what JSON has as one value: times, quantities, bytes.
func isLeaf(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		return false
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Struct:
		of := reflect.PointerTo(t)
		return of.Implements(reflect.TypeFor[json.Marshaler]()) || t == reflect.TypeFor[metav1.FieldsV1]() ||
			t == reflect.TypeFor[runtime.RawExtension]()
	default:
		return true
	}
}

// fingerprint is short, and another one if a field is added, removed or renamed.
func fingerprint(fields []string) string {
	sum := sha256.Sum256([]byte(strings.Join(fields, "\n")))
	return hex.EncodeToString(sum[:2])
}

// TestThreatModelNoticesChanges holds the check itself: what Kubernetes adds, and rows that are
// wrong.
func TestThreatModelNoticesChanges(t *testing.T) {
	type Inner struct {
		A string `json:"a"`
		B []byte `json:"b"`
	}
	type more struct {
		Inner `json:",inline"`
		C     *int `json:"c"`
	}
	type before struct {
		List []Inner          `json:"list"`
		Map  map[string]Inner `json:"map"`
	}
	type after struct {
		List []more          `json:"list"`
		Map  map[string]more `json:"map"`
	}
	rows := []fieldRow{
		{field: "list[]", prefix: true, count: "2", hash: fingerprint([]string{"list[].a", "list[].b"}), written: "list[].*"},
		{field: "map{}.a", written: "map{}.a"}, {field: "map{}.b", written: "map{}.b"},
	}
	const changed = "T: line 0: the fields below list[].* have changed: look at them, then write (3: "
	for _, tc := range []struct {
		name string
		of   reflect.Type
		rows []fieldRow
		want []string
	}{
		{"as it was", reflect.TypeFor[before](), rows, nil},
		{"a field is added", reflect.TypeFor[after](), rows, []string{changed, "T: no row for map{}.c"}},
		{"a row is missing", reflect.TypeFor[before](), rows[:2], []string{"T: no row for map{}.b"}},
		{"a row is there twice", reflect.TypeFor[before](), append(rows, rows[2]),
			[]string{"T: line 0: map{}.b is in the row of map{}.b already"}},
		{"a field is gone", reflect.TypeFor[before](), append(rows, fieldRow{field: "map{}.c", written: "map{}.c"}),
			[]string{"T: line 0: there is no field map{}.c"}},
	} {
		got := checkRows("T", tc.of, tc.rows, nil)
		if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
