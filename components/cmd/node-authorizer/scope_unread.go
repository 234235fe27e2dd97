// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/klog/v2"
)

// unread logs annotations that cannot be parsed. A user that may write annotations can create any
// number of them. So an annotation is not logged while the buffer is full. The metric counts all of
// them.
type unread chan unreadAnnotation

type unreadAnnotation struct {
	kind, namespace, name string
	err                   error
}

func newUnread() unread { return make(unread, 100) }

// note does not block.
func (u unread) note(kind, namespace, name string, err error) {
	select {
	case u <- unreadAnnotation{kind, namespace, name, err}:
	default:
	}
}

// run writes the log until ctx is done.
func (u unread) run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-u:
			logger.Info("Invalid annotation of node scope",
				"kind", a.kind, "namespace", a.namespace, "name", a.name, "reason", a.err.Error())
		}
	}
}
