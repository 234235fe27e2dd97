// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installtest

import (
	"context"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ConfigMaps are the ConfigMaps of one namespace.
type ConfigMaps = Store[corev1.ConfigMap, *corev1.ConfigMap]

// Leases are the Leases of one namespace.
type Leases = Store[coordinationv1.Lease, *coordinationv1.Lease]

type object[T any] interface {
	*T
	metav1.Object
	DeepCopy() *T
}

// Store has objects of one kind, with resourceVersions as the API has them. Its methods have the
// signatures of client-go's client. They fail if their context is cancelled. It is safe for concurrent
// use.
type Store[T any, P object[T]] struct {
	mu      sync.Mutex
	objects map[string]P
	version int
	before  func(verb string) error
}

// Before sets a function that is called before each request, with the verb. The request fails with
// its error. It may use the store itself, and is not called for these requests.
func (s *Store[T, P]) Before(call func(verb string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = call
}

func (s *Store[T, P]) begin(ctx context.Context, verb string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	call := s.before
	s.before = nil
	s.mu.Unlock()
	if call == nil {
		return nil
	}
	err := call(verb)
	s.Before(call)
	return err
}

// Get returns a copy of the object.
func (s *Store[T, P]) Get(ctx context.Context, name string, _ metav1.GetOptions) (*T, error) {
	if err := s.begin(ctx, "get"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have, ok := s.objects[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	return have.DeepCopy(), nil
}

// Create fails if the object exists.
func (s *Store[T, P]) Create(ctx context.Context, o *T, _ metav1.CreateOptions) (*T, error) {
	if err := s.begin(ctx, "create"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := P(o).GetName()
	if _, ok := s.objects[name]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{}, name)
	}
	created := P(P(o).DeepCopy())
	created.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	return s.save(created), nil
}

// Update fails if the object does not exist, or has another resourceVersion.
func (s *Store[T, P]) Update(ctx context.Context, o *T, _ metav1.UpdateOptions) (*T, error) {
	if err := s.begin(ctx, "update"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name, version := P(o).GetName(), P(o).GetResourceVersion()
	if err := s.check(name, &version); err != nil {
		return nil, err
	}
	return s.save(P(P(o).DeepCopy())), nil
}

// Delete fails if the object does not exist, or has another resourceVersion than the precondition.
func (s *Store[T, P]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := s.begin(ctx, "delete"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var version *string
	if o.Preconditions != nil {
		version = o.Preconditions.ResourceVersion
	}
	if err := s.check(name, version); err != nil {
		return err
	}
	delete(s.objects, name)
	return nil
}

// Names returns the names of all objects, in no order.
func (s *Store[T, P]) Names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.objects {
		names = append(names, name)
	}
	return names
}

func (s *Store[T, P]) check(name string, version *string) error {
	have, ok := s.objects[name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	if version != nil && *version != have.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{}, name, nil)
	}
	return nil
}

func (s *Store[T, P]) save(o P) *T {
	if s.objects == nil {
		s.objects = map[string]P{}
	}
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[o.GetName()] = o
	return o.DeepCopy()
}
