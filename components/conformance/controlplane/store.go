// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// perTransaction is how many objects are written at once. etcd takes 1.5 MB.
	perTransaction = 100
	// writers write at the same time.
	writers = 4
)

// store writes objects to etcd as kube-apiserver does.
type store struct {
	etcd    *clientv3.Client
	encoder runtime.Encoder
	buffers sync.Pool
	written atomic.Int64
	bytes   atomic.Int64
}

func newStore(etcd *clientv3.Client) *store {
	return &store{
		etcd: etcd, encoder: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

type object interface {
	runtime.Object
	metav1.Object
}

// keyOf is where kube-apiserver stores an object of that resource.
func keyOf(resource string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return "/registry/" + resource + "/" + o.GetName()
	}
	return "/registry/" + resource + "/" + o.GetNamespace() + "/" + o.GetName()
}

// put is the writing of one object.
func (s *store) put(resource string, o object) (clientv3.Op, error) {
	buffer, _ := s.buffers.Get().(*bytes.Buffer)
	defer s.buffers.Put(buffer)
	buffer.Reset()
	if err := s.encoder.Encode(o, buffer); err != nil {
		return clientv3.Op{}, fmt.Errorf("encoding %s %s: %w", resource, o.GetName(), err)
	}
	s.written.Add(1)
	s.bytes.Add(int64(buffer.Len()))
	return clientv3.OpPut(keyOf(resource, o), buffer.String()), nil
}

// fill writes n objects, of which make gives the one of each number.
func (s *store) fill(ctx context.Context, resource string, n int, make func(int) object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for first := 0; first < n; first += perTransaction {
		group.Go(func() error {
			var ops []clientv3.Op
			for i := first; i < min(first+perTransaction, n); i++ {
				op, err := s.put(resource, make(i))
				if err != nil {
					return err
				}
				ops = append(ops, op)
			}
			if _, err := s.etcd.Txn(ctx).Then(ops...).Commit(); err != nil {
				return fmt.Errorf("writing %s: %w", resource, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// fillCluster writes everything.
func (s *store) fillCluster(ctx context.Context, size Size) error {
	for _, part := range []struct {
		resource string
		n        int
		make     func(int) object
	}{
		{"minions", size.Nodes, func(i int) object { return size.node(i) }},
		{"pods", size.Pods, func(i int) object { return size.pod(i) }},
		{"persistentvolumeclaims", size.Pods / every, func(i int) object { return size.claim(i * every) }},
		{"persistentvolumes", size.Pods / every, func(i int) object { return size.volume(i * every) }},
		{"volumeattachments", size.Pods / every, func(i int) object { return size.attachment(i * every) }},
	} {
		if err := s.fill(ctx, part.resource, part.n, part.make); err != nil {
			return err
		}
	}
	return nil
}
