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

// Entry is what is remembered of one node.
type Entry struct {
	Node string
	// Taints are all that are remembered. Absent are those of them that the Node
	// which is there now has been registered without.
	Taints, Absent []corev1.Taint
	// Unreadable is true if nobody can tell.
	Unreadable bool
}

// List reads what is stored, in the order of names.
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

// Clear forgets the taints of a node that have the key, or all of them if key is
// empty. It returns those that it has forgotten; of a record that nobody can read it
// returns none. A taint that is on a Node now will be remembered again.
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

// cleared is the record without the taints of a key; without any if key is empty.
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
