// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eachNode calls visit for every Node. It reads one page at a time, because a large cluster has
// thousands of Nodes.
func eachNode(ctx context.Context, in Input, selector string, visit func(*corev1.Node)) error {
	options := metav1.ListOptions{Limit: podsPerPage, LabelSelector: selector}
	for {
		page, err := in.Client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return fmt.Errorf("cannot list nodes: %w", err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}

// eachPod calls visit for every pod that the API server selects. It reads one page at a time.
func eachPod(ctx context.Context, in Input, fieldSelector string, visit func(*corev1.Pod) error) error {
	options := metav1.ListOptions{Limit: podsPerPage, FieldSelector: fieldSelector}
	for {
		page, err := in.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return fmt.Errorf("cannot list pods: %w", err)
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}

// examples counts names and keeps the first ones.
type examples struct {
	first []string
	count int
}

// mostExamples limits the names in one line about many objects of the same kind.
const mostExamples = 3

func (e *examples) add(name string) {
	if e.count++; len(e.first) < mostExamples {
		e.first = append(e.first, name)
	}
}

func (e *examples) String() string {
	text := strings.Join(e.first, ", ")
	if more := e.count - len(e.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
