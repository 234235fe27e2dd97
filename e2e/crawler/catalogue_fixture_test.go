// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a resource from discovery, in the version that the API server prefers.
type resource struct {
	schema.GroupVersionResource
	Kind         string
	Namespaced   bool
	Verbs        []string
	Subresources []subresource
	// Remote is true where an aggregated API server answers. Such a server may not support dry
	// runs.
	Remote bool
}

// subresource has the type of the body that a write sends.
type subresource struct {
	Name  string
	Type  schema.GroupVersionKind
	Verbs []string
}

// String returns the resource and its group, as in RBAC.
func (r resource) String() string { return r.GroupResource().String() }

func (r resource) can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// catalogue returns all resources from discovery, each once.
func catalogue(groups []*metav1.APIGroup, lists []*metav1.APIResourceList, remote map[string]bool) []resource {
	found := map[schema.GroupResource]*resource{}
	for _, list := range preferredFirst(groups, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // invalid group version from the server
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || found[version.WithResource(r.Name).GroupResource()] != nil {
				continue
			}
			found[version.WithResource(r.Name).GroupResource()] = &resource{
				GroupVersionResource: version.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced,
				Verbs: slices.Clone(r.Verbs), Remote: remote[version.Group],
			}
		}
		addSubresources(found, version, list.APIResources)
	}
	all := make([]resource, 0, len(found))
	for _, r := range found {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b resource) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func addSubresources(found map[schema.GroupResource]*resource, version schema.GroupVersion, all []metav1.APIResource) {
	for _, r := range all {
		name, sub, ok := strings.Cut(r.Name, "/")
		parent := found[version.WithResource(name).GroupResource()]
		if !ok || parent == nil || parent.Version != version.Version {
			continue
		}
		of := version
		if r.Version != "" {
			of = schema.GroupVersion{Group: r.Group, Version: r.Version}
		}
		parent.Subresources = append(parent.Subresources,
			subresource{Name: sub, Type: of.WithKind(r.Kind), Verbs: slices.Clone(r.Verbs)})
	}
}

// preferredFirst puts the server's preferred versions first. A resource that only another version
// serves comes later.
func preferredFirst(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []*metav1.APIResourceList {
	preferred := map[string]bool{}
	for _, g := range groups {
		preferred[g.PreferredVersion.GroupVersion] = true
	}
	sorted := slices.Clone(lists)
	slices.SortStableFunc(sorted, func(a, b *metav1.APIResourceList) int {
		switch {
		case preferred[a.GroupVersion] == preferred[b.GroupVersion]:
			return 0
		case preferred[a.GroupVersion]:
			return -1
		}
		return 1
	})
	return sorted
}

// path returns the path of an object, a collection or a subresource.
func (r resource) path(namespace, name, sub string) string {
	parts := []string{"/apis", r.Group, r.Version}
	if r.Group == "" {
		parts = []string{"/api", r.Version}
	}
	if r.Namespaced && namespace != "" {
		parts = append(parts, "namespaces", url.PathEscape(namespace))
	}
	parts = append(parts, r.Resource)
	if name != "" {
		parts = append(parts, url.PathEscape(name))
	}
	if sub != "" {
		parts = append(parts, sub)
	}
	return strings.Join(parts, "/")
}
