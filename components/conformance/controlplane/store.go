// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// perTransaction is the number of objects in one write. etcd accepts 1.5 MB.
const perTransaction = 100

type object interface {
	runtime.Object
	metav1.Object
}

// fill writes all objects directly to etcd, in the same form as kube-apiserver. Through
// kube-apiserver, 100,000 pods with their status would take minutes.
func (p *ControlPlane) fill(ctx context.Context, _ string) error {
	size := p.Size
	for _, part := range []struct {
		resource string
		n        int
		make     func(int) object
	}{
		{"minions", size.Nodes, func(i int) object { return size.node(i) }},
		{"pods", size.Pods, func(i int) object { return size.Pod(i) }},
		{"persistentvolumeclaims", size.Pods / every, func(i int) object { return size.claim(i * every) }},
		{"persistentvolumes", size.Pods / every, func(i int) object { return size.Volume(i * every) }},
		{"volumeattachments", size.Pods / every, func(i int) object { return size.Attachment(i * every) }},
	} {
		for first := 0; first < part.n; first += perTransaction {
			if err := p.put(ctx, part.resource, first, min(first+perTransaction, part.n), part.make); err != nil {
				return fmt.Errorf("cannot write %s to etcd: %w", part.resource, err)
			}
		}
	}
	return nil
}

func (p *ControlPlane) put(ctx context.Context, resource string, from, to int, makeOne func(int) object) error {
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	var ops []clientv3.Op
	for i := from; i < to; i++ {
		var buffer bytes.Buffer
		o := makeOne(i)
		if err := encoder.Encode(o, &buffer); err != nil {
			return err
		}
		key := "/registry/" + resource + "/"
		if o.GetNamespace() != "" {
			key += o.GetNamespace() + "/"
		}
		ops = append(ops, clientv3.OpPut(key+o.GetName(), buffer.String()))
	}
	_, err := p.etcd.Txn(ctx).Then(ops...).Commit()
	return err
}
