// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestSomeOf(t *testing.T) {
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{nil, ""},
		{[]string{"b", "a"}, "a, b"},
		{[]string{"j", "i", "h", "g", "f", "e", "d", "c", "b", "a"}, "a, b, c, d, e, f, g, h, i, j"},
		{[]string{"k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"}, "a, b, c, d, e, f, g, h, i, j and 1 more"},
	} {
		if got := someOf(tc.keys); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestComparedFieldByField fails if Kubernetes adds a field to a type that is compared field by
// field. Then add the field to the comparison.
func TestComparedFieldByField(t *testing.T) {
	for _, tc := range []struct {
		of   reflect.Type
		want []string
	}{
		{reflect.TypeFor[corev1.PodExtendedResourceClaimStatus](), []string{"RequestMappings", "ResourceClaimName"}},
		{reflect.TypeFor[corev1.NodeAllocatableResourceClaimStatus](),
			[]string{"ResourceClaimName", "Containers", "Mapping", "Overhead"}},
		{reflect.TypeFor[corev1.NodeAllocatableMappedResources](), []string{"Name", "Quantity"}},
		{reflect.TypeFor[corev1.NodeAllocatableOverheadResources](), []string{"Name", "PerPod", "PerContainer"}},
		{reflect.TypeFor[corev1.VolumeResourceRequirements](), []string{"Limits", "Requests"}},
		{reflect.TypeFor[corev1.VolumeSource](), []string{
			"HostPath", "EmptyDir", "GCEPersistentDisk", "AWSElasticBlockStore", "GitRepo", "Secret", "NFS", "ISCSI",
			"Glusterfs",
			"PersistentVolumeClaim", "RBD", "FlexVolume", "Cinder", "CephFS", "Flocker", "DownwardAPI", "FC", "AzureFile",
			"ConfigMap",
			"VsphereVolume", "Quobyte", "AzureDisk", "PhotonPersistentDisk", "Projected", "PortworxVolume", "ScaleIO",
			"StorageOS", "CSI",
			"Ephemeral", "Image",
		}},
		{reflect.TypeFor[storagev1.CSINodeSpec](), []string{"Drivers"}},
		{reflect.TypeFor[storagev1.CSINodeDriver](), []string{"Name", "NodeID", "TopologyKeys", "Allocatable"}},
		{reflect.TypeFor[storagev1.VolumeNodeResources](), []string{"Count"}},
	} {
		var got []string
		for i := range tc.of.NumField() {
			got = append(got, tc.of.Field(i).Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-compared +there are):\n%s", tc.of, diff)
		}
	}
}

// TestEveryUpstreamRuleHasAText fails if an upstream rule has no entry in upstreamTexts. Without
// one, RuleOfUpstream cannot explain its denial.
func TestEveryUpstreamRuleHasAText(t *testing.T) {
	for _, r := range Rules {
		has := slices.ContainsFunc(upstreamTexts, func(u upstreamText) bool { return u.rule.ID == r.ID })
		if has == r.Extension {
			t.Errorf("%s: extension %v, has a text of upstream %v", r.ID, r.Extension, has)
		}
	}
}

func TestRuleOfUpstreamKnowsOnlyNodeRestriction(t *testing.T) {
	for _, row := range []struct {
		name, message string
		want          rules.ID
	}{
		{"other node's Node", `nodes "b" is forbidden: node "a" is not allowed to modify node "b"`, "NR-NODE-1"},
		{"the same text on another resource", `pods "b" is forbidden: node "a" is not allowed to modify node "b"`, ""},
		{"RBAC", `secrets "s" is forbidden: User "u" cannot get resource "secrets" in API group "" in the namespace "n"`, ""},
		{"empty", "", ""},
		{"3 MB", "nodes " + strings.Repeat("x", 3<<20), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := RuleOfUpstream(row.message); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// checkUpstreamText compares upstreamTexts with each denial in the tables of this package. Some
// denials have no text: those that the API server's own decoding prevents (an object of another
// type, an operation that a subresource of pods does not have), and a failed lookup.
func checkUpstreamText(t *testing.T, by rules.ID, message string) {
	t.Helper()
	place := slices.IndexFunc(Rules, func(r rules.Rule) bool { return r.ID == by })
	if place < 0 || Rules[place].Extension || strings.Contains(message, "unexpected type") ||
		strings.HasPrefix(message, "pods") && strings.Contains(message, "unexpected operation") && by != podUpdate.ID {
		return
	}
	message = strings.TrimSuffix(message, " ["+string(by)+"]")
	if strings.HasSuffix(message, " is forbidden: no answer") || strings.HasSuffix(message, " is forbidden: timeout") {
		return
	}
	var all []rules.ID
	for _, u := range upstreamTexts {
		if u.message.MatchString(message) && !slices.Contains(all, u.rule.ID) {
			all = append(all, u.rule.ID)
		}
	}
	if !slices.Equal(all, []rules.ID{by}) {
		t.Errorf("without its ID the message means %v, want only %s:\n  %s", all, by, message)
	}
}
