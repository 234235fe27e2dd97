// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// Entry is the recorded history of one node.
type Entry struct {
	Node string
	// Taints are all recorded taints. Absent are those of them that were missing when the current
	// Node was registered.
	Taints, Absent []corev1.Taint
	// Unreadable is true if the record cannot be parsed.
	Unreadable bool
}

// List returns the stored records, in the order of node names. It returns none if the ConfigMap
// does not exist. It returns an error if the ConfigMap cannot be read.
func List(ctx context.Context, client kubernetes.Interface) ([]Entry, error) {
	there, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the node history: %w", err)
	}
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(there.Data)) {
		r := decode(there.Data[name])
		entries = append(entries, Entry{
			Node: name, Taints: slices.Concat(r.taints, r.absent), Absent: r.absent, Unreadable: r.unreadable,
		})
	}
	return entries, nil
}

// Clear removes the recorded taints of a node that have the key. If key is empty, it removes all of
// them. It returns the removed taints. For a record that cannot be parsed it returns none, and key
// must be empty. If a removed taint is still on a Node, it will be recorded again. Clear retries
// conflicts. It returns an error if the ConfigMap cannot be read or written.
func Clear(ctx context.Context, client kubernetes.Interface, node, key string) (forgotten []corev1.Taint, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		forgotten = nil
		there, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		text, known := there.Data[node]
		if !known {
			return nil
		}
		there = there.DeepCopy()
		before := decode(text)
		if before.unreadable && key != "" {
			return fmt.Errorf("what is stored of node %q cannot be read; it can only be cleared as a whole", node)
		}
		after := before.cleared(key)
		forgotten = missing(slices.Concat(before.taints, before.absent), slices.Concat(after.taints, after.absent))
		if after.isEmpty() {
			delete(there.Data, node)
		} else {
			there.Data[node] = after.encode()
		}
		_, err = client.CoreV1().ConfigMaps(Namespace).Update(ctx, there, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot clear the history of node %q: %w", node, err)
	}
	return forgotten, nil
}

// cleared returns the record without the taints that have the key. If key is empty, it returns an
// empty record.
func (r record) cleared(key string) record {
	if key == "" {
		return record{}
	}
	ofKey := func(t corev1.Taint) bool { return t.Key == key }
	r.taints = slices.DeleteFunc(slices.Clone(r.taints), ofKey)
	r.absent = slices.DeleteFunc(slices.Clone(r.absent), ofKey)
	r.initial = slices.DeleteFunc(slices.Clone(r.initial), ofKey)
	return r
}
