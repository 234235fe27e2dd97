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
	// patience is how long a question waits for its answer: half of the time that
	// kube-apiserver gives the webhook, so that an answer comes from us.
	patience = time.Second
	// callTimeout is a little less, so that whoever waits hears why.
	callTimeout = 900 * time.Millisecond
)

var errNoAnswer = fmt.Errorf("the API server has not answered within %v", patience)

// question is what is asked about: an object, or what a count is about. kind is
// the resource, as metrics name it.
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

// canExist is false if there can be no such object: the name is none that an API
// server would take. Such a name does not get into the path of a call, and the
// others are of a length that is bounded.
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

// look asks the API server, together with all who ask the same at that time.
func look[T any](ctx context.Context, v *Cluster, asked question, c func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, v.patience, errNoAnswer)
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

// explain keeps a 404, which says something about the object. All else is about
// us: a caller who is told "forbidden" because we lack a right would look for the
// fault at the wrong place, and would not try again.
func explain(kind string, err error) error {
	if apierrors.IsNotFound(err) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "Internal error occurred: ")
	// Without %w: whoever unwraps it would find the status of our own call.
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
