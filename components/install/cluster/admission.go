// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
)

// reportedStatus adds a condition. node-restriction reviews every status of a Node.
const reportedStatus = `{"status":{"conditions":[{"type":"bulkhead.dev/Check","status":"Unknown"}]}}`

// ReportStatus patches a Node's status as this node, with dry run. It passes the
// same webhooks as the status update of a kubelet. So a kubelet would get the same error. If the
// Node does not exist, ReportStatus returns nil, because the check is not possible.
func (c *Client) ReportStatus(ctx context.Context, node string) error {
	_, err := c.Kubernetes.CoreV1().RESTClient().Patch(types.StrategicMergePatchType).
		Resource("nodes").Name(node).SubResource("status").
		Param("dryRun", metav1.DryRunAll).Param("fieldManager", fieldManager).
		SetHeader("Impersonate-User", "system:node:"+node).
		SetHeader("Impersonate-Group", "system:nodes", "system:authenticated").
		Body([]byte(reportedStatus)).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Annotations returns all annotations of a namespace. ours has the keys that Bulkhead's field
// manager has applied.
func (c *Client) Annotations(ctx context.Context, namespace string) (all map[string]string, ours []string, err error) {
	have, err := c.Kubernetes.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	for _, entry := range have.ManagedFields {
		if entry.Manager == fieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.FieldsV1 != nil {
			ours, err = annotationsIn(entry.FieldsV1)
		}
	}
	return have.Annotations, ours, err
}

func annotationsIn(fields *metav1.FieldsV1) ([]string, error) {
	var owned struct {
		Metadata struct {
			Annotations map[string]any `json:"f:annotations"`
		} `json:"f:metadata"`
	}
	if err := json.Unmarshal(fields.GetRawBytes(), &owned); err != nil {
		return nil, fmt.Errorf("reading managed fields: %w", err)
	}
	var keys []string
	for field := range owned.Metadata.Annotations {
		if key, ok := strings.CutPrefix(field, "f:"); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// SetAnnotations applies the annotations of a namespace that Bulkhead manages. It removes
// Bulkhead's annotations that are not in the map, unless another field manager has also set them.
// If another field manager has set a different value, it returns a conflict error and changes
// nothing.
func (c *Client) SetAnnotations(ctx context.Context, namespace string, annotations map[string]string) error {
	_, err := c.Kubernetes.CoreV1().Namespaces().Apply(ctx,
		corev1apply.Namespace(namespace).WithAnnotations(annotations), metav1.ApplyOptions{FieldManager: fieldManager})
	return err
}
