// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// lookupTimeout is how long a lookup waits for its answer. It is half of the webhook's timeout in
	// kube-apiserver, so that node-restriction answers before that timeout.
	lookupTimeout = time.Second
	// callTimeout is less than lookupTimeout, so that the waiting callers get the error of the call.
	callTimeout = 900 * time.Millisecond
)

var errNoAnswer = fmt.Errorf("the API server has not answered within %v", lookupTimeout)

// question identifies a lookup: an object, or the subject of a count. kind is the resource, as
// named in metrics.
type question struct {
	kind            string
	namespaced      bool
	namespace, name string
	limit           int
}

func inCluster(kind, name string) question { return question{kind: kind, name: name} }

func inNamespace(kind, namespace, name string) question {
	return question{kind: kind, namespaced: true, namespace: namespace, name: name}
}

// canExist returns false for a name that no API server accepts. Such a name is never put in the
// path of a call. The length of all other names is limited.
func (q question) canExist() bool {
	for _, name := range []string{q.namespace, q.name} {
		if len(name) > validation.DNS1123SubdomainMaxLength || len(content.IsPathSegmentName(name)) > 0 {
			return false
		}
	}
	return q.name != "" && q.namespaced == (q.namespace != "")
}

// get reads one object by name.
func get[T any](ctx context.Context, v *Cluster, group string, asked question,
	read func(context.Context, string, metav1.GetOptions) (T, error)) (T, error) {
	var none T
	if !asked.canExist() {
		return none, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: asked.kind}, asked.name)
	}
	return look(ctx, v, asked, func(ctx context.Context) (T, error) {
		return read(ctx, asked.name, metav1.GetOptions{})
	})
}

// look calls the API server. Callers with the same question at the same time share the call.
func look[T any](ctx context.Context, v *Cluster, asked question, c func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, v.lookupTimeout, errNoAnswer)
	defer cancel()
	answer, err := v.flights.do(ctx, asked, func(ctx context.Context) (any, error) {
		return measured(ctx, v, asked.kind, c)
	})
	typed, ok := answer.(T)
	if err == nil && !ok {
		err = fmt.Errorf("an answer of type %T", answer)
	}
	if err != nil {
		var none T
		return none, explain(asked.kind, err)
	}
	return typed, nil
}

func measured[T any](ctx context.Context, v *Cluster, kind string, c func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, v.callTimeout, errNoAnswer)
	defer cancel()
	start := time.Now()
	answer, err := c(ctx)
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	v.metrics.lookedUp(kind, outcomeOf(err), time.Since(start))
	return answer, err
}

// plainKinds are the texts for kinds that are only labels of metrics.
var plainKinds = map[string]string{
	"podsonnode": "the pods of the node", "resourceslicepools": "the resourceslices of the pool",
	"mirrorpods": "the mirror pods of the node", "joins": "the certificate requests of kubelets that join",
}

// explain keeps a 404, because it says something about the object. All other errors are about
// node-restriction's own call. For example, node-restriction may lack a right. If its caller then
// got "forbidden", an operator would look for the error in the wrong place. A kubelet would not
// retry.
func explain(kind string, err error) error {
	if apierrors.IsNotFound(err) {
		return err
	}
	if plain, ok := plainKinds[kind]; ok {
		kind = plain
	}
	text := strings.TrimPrefix(err.Error(), "Internal error occurred: ")
	// No %w here: a caller could unwrap it and use the status of node-restriction's own call.
	return fmt.Errorf("cannot look up %s: %s", kind, text)
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case apierrors.IsNotFound(err):
		return "not-found"
	case errors.Is(err, errNoAnswer):
		return "no-answer"
	case errors.Is(err, context.Canceled):
		return "withdrawn"
	default:
		return "failed"
	}
}
