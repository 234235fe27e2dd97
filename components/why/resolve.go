// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// Resolve sets the group, version and resource from what a user writes: secret, po, pods/status,
// leases.coordination.k8s.io. A name that begins with a slash is a path. If the API server does not
// know the resource, Resolve says so and takes the words as they are: an authorizer decides about any.
// Without a namespace flag, it sets the namespace to fallback for a resource that has one.
func (r *Request) Resolve(client discovery.DiscoveryInterface, resource, fallback string, problems io.Writer) error {
	if strings.HasPrefix(resource, "/") {
		r.Path, r.Namespace, r.Name = resource, "", ""
		return nil
	}
	name, subresource, _ := strings.Cut(resource, "/")
	if name == "" {
		return fmt.Errorf("cannot ask about resource %q: give a resource such as secrets, or a path that begins with a slash",
			webhook.Loggable(resource))
	}
	r.Subresource = subresource
	parsed := schema.ParseGroupResource(strings.ToLower(name))
	r.Resource, r.Group = parsed.Resource, parsed.Group
	groups, err := restmapper.GetAPIGroupResources(client)
	if unreachable := (*url.Error)(nil); errors.As(err, &unreachable) {
		return noAnswer(err)
	}
	if err != nil {
		_, _ = fmt.Fprintf(problems, "cannot list the resources of the API server: %s; %s is used as it is\n",
			cannotRead(err), webhook.Loggable(resource))
		return nil
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), client, nil)
	found, err := mapper.ResourceFor(parsed.WithVersion(""))
	if err != nil {
		_, _ = fmt.Fprintf(problems, "the API server has no resource %s; it is used as it is\n", webhook.Loggable(name))
		return nil
	}
	r.Group, r.Version, r.Resource = found.Group, found.Version, found.Resource
	r.setNamespace(mapper, fallback)
	return nil
}

// setNamespace removes the namespace of a resource that has none, and sets a missing one.
func (r *Request) setNamespace(mapper meta.RESTMapper, fallback string) {
	kind, err := mapper.KindFor(schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource})
	if err != nil {
		return
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err != nil:
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		r.Namespace = ""
	case r.Namespace == "":
		r.Namespace = fallback
	}
}
