// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"context"
	"errors"
	"hash/fnv"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// objects are the objects of a cluster, in the indexers of informers that are not started.
type objects struct {
	informers.SharedInformerFactory
	grants uint64
}

func newObjects() *objects {
	return &objects{SharedInformerFactory: informers.NewSharedInformerFactory(nil, 0)}
}

// set replaces all objects.
func (o *objects) set(w *generator.Cluster) error {
	o.grants = w.Grants
	core, storage := o.Core().V1(), o.Storage().V1()
	return errors.Join(
		replace(core.Nodes().Informer(), w.Nodes),
		replace(core.Pods().Informer(), w.Pods),
		replace(
			core.ServiceAccounts().Informer(),
			w.Accounts,
		),
		replace(core.PersistentVolumeClaims().Informer(), w.Claims),
		replace(core.PersistentVolumes().Informer(), w.Volumes),
		replace(storage.CSIDrivers().Informer(), w.Drivers),
	)
}

func replace[T any](informer cache.SharedIndexInformer, objects []T) error {
	items := make([]any, 0, len(objects))
	for _, object := range objects {
		items = append(items, object)
	}
	return informer.GetIndexer().Replace(items, "1")
}

// grant decides whether a user has a right. The decision is arbitrary, but always the same for the
// same input.
func (o *objects) grant(who user.Info, right noderestriction.Right) (authorizer.Decision, error) {
	sum := fnv.New64a()
	words := append(
		[]string{
			right.Verb,
			right.Group,
			right.Version,
			right.Resource,
			right.Namespace,
			right.Name,
			who.GetName(),
			who.GetUID(),
		},
		who.GetGroups()...)
	for _, word := range words {
		_, _ = sum.Write([]byte(word + "\x00"))
	}
	switch (sum.Sum64() ^ o.grants) % 8 {
	case 0:
		return authorizer.DecisionAllow, nil
	case 1:
		return authorizer.DecisionAllow, errors.New("one of the authorizers failed")
	case 2:
		return authorizer.DecisionDeny, nil
	case 3:
		return authorizer.DecisionNoOpinion, errors.New("no authorizer answered")
	default:
		return authorizer.DecisionNoOpinion, nil
	}
}

// Authorize answers upstream's request. It fails if the request has attributes that Bulkhead does
// not set.
func (o *objects) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetSubresource() != "" || !a.IsResourceRequest() || a.GetPath() != "" {
		return authorizer.DecisionNoOpinion, "", errors.New("asked otherwise")
	}
	decision, err := o.grant(a.GetUser(), noderestriction.Right{
		Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(),
		Resource: a.GetResource(), Namespace: a.GetNamespace(), Name: a.GetName(),
	})
	return decision, "", err
}
