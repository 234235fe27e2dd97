// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// TestRightsOfTheManifest asks about an object of each resource whose decision depends on a relation. The
// roles in manifests/why have every right that these questions need, and no other.
func TestRightsOfTheManifest(t *testing.T) {
	needed := map[string]bool{}
	for resource := range maps.Keys(related) {
		r := schema.ParseGroupResource(resource)
		// A volume with this secret leads to a claim, and the claim to pods.
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "tls"}}
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "claim"}
		client := cluster(authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: unrelated}, volume)
		asked := request(t, "system:node:worker-1", "get", r.Resource, "default", "tls")
		asked.Group = r.Group
		if _, err := (Asker{Client: client}).Ask(t.Context(), asked); err != nil {
			t.Fatalf("%s: %v", resource, err)
		}
		for _, action := range client.Actions() {
			right := action.GetVerb() + " " + action.GetResource().GroupResource().String()
			if action.GetNamespace() == metav1.NamespaceSystem {
				right += " in kube-system"
			}
			needed[right] = true
		}
	}
	granted := append(grantedBy(t, "why/clusterrole.yaml"), grantedBy(t, "why/role.yaml")...)
	slices.Sort(granted)
	if diff := cmp.Diff(granted, slices.Sorted(maps.Keys(needed))); diff != "" {
		t.Errorf("rights (-granted +needed)\n%s", diff)
	}
}

// grantedBy returns the rights of a role in a manifest.
func grantedBy(t *testing.T, name string) (all []string) {
	t.Helper()
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	suffix := strings.TrimSuffix(" in "+role.Namespace, " in ")
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				group := schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}
				all = append(all, verb+" "+group.String()+suffix)
			}
		}
	}
	return all
}
