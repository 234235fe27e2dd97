// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In a large cluster without `bulkhead node install`, the error has only a few lines.
func TestNodesWithAProblemAreNamed(t *testing.T) {
	var nodes []corev1.Node
	for i := range 40 {
		nodes = append(nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%02d", i)}})
	}
	odd := func(node *corev1.Node) error {
		if strings.HasSuffix(node.Name, "5") {
			return errors.New("connection refused")
		}
		return nil
	}
	if err := named(nodes, func(*corev1.Node) error { return nil }); err != nil {
		t.Errorf("error is %v", err)
	}
	if err := named(nodes, odd); err == nil || strings.Count(err.Error(), "\n") != 3 ||
		!strings.HasPrefix(err.Error(), "node node-05: connection refused\nnode node-15:") {
		t.Errorf("error is %v", err)
	}
	err := named(nodes, func(*corev1.Node) error { return errors.New("x509: certificate signed by unknown authority") })
	if err == nil || strings.Count(err.Error(), "node node-") != mostNodes ||
		!strings.HasSuffix(err.Error(), "and 30 nodes more") {
		t.Errorf("error is %v", err)
	}
}
