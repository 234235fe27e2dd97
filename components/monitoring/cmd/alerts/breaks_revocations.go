// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

const (
	revocations    = "bulkhead-revocations"
	revokedKey     = "credential-ids"
	invalidID      = "bulkhead-alerts-not-an-id"
	inventedPrefix = "X509SHA256=b1b1b1b1"
)

// inventedID returns a valid ID of no certificate.
func inventedID() string {
	random := make([]byte, 28)
	_, _ = rand.Read(random)
	return inventedPrefix + hex.EncodeToString(random)
}

// addRevocation adds a line to the list of revoked credentials.
func (c *cluster) addRevocation(ctx context.Context, line string) error {
	return c.changeRevocations(ctx, func(lines []string) []string { return append(lines, line) })
}

// removeRevocations removes the lines with a prefix.
func (c *cluster) removeRevocations(ctx context.Context, prefix string) error {
	return c.changeRevocations(ctx, func(lines []string) []string {
		return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
	})
}

// changeRevocations changes the list, and makes the kubelets update it in the proxies at once. By
// itself, a kubelet does so within a minute.
func (c *cluster) changeRevocations(ctx context.Context, change func([]string) []string) error {
	maps, changed := c.client.CoreV1().ConfigMaps(systemNamespace), false
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		list, err := maps.Get(ctx, revocations, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := strings.Fields(list.Data[revokedKey])
		after := change(slices.Clone(before))
		if changed = !slices.Equal(before, after); !changed {
			return nil
		}
		if list.Data == nil {
			list.Data = map[string]string{}
		}
		list.Data[revokedKey] = strings.Join(after, "\n") + "\n"
		if len(after) == 0 {
			delete(list.Data, revokedKey)
		}
		_, err = maps.Update(ctx, list, metav1.UpdateOptions{})
		return err
	})
	if err != nil || !changed {
		return err
	}
	return c.touchProxies(ctx)
}

// touchProxies changes an annotation of each proxy's pod, so that its kubelet looks at its volumes.
func (c *cluster) touchProxies(ctx context.Context) error {
	pods := c.client.CoreV1().Pods(systemNamespace)
	all, err := pods.List(ctx, metav1.ListOptions{LabelSelector: c.proxyPods().LabelSelector})
	if err != nil {
		return err
	}
	for _, pod := range all.Items {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			metav1.SetMetaDataAnnotation(&now.ObjectMeta, "bulkhead.dev/alerts", time.Now().Format(time.RFC3339Nano))
			_, err = pods.Update(ctx, now, metav1.UpdateOptions{})
			return err
		})
		// A new pod mounts the current list.
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func revocationListFailed(c *cluster) *breakage {
	return &breakage{
		causes:   both("BulkheadRevocationListFailed", jobAuthorizer, jobProxy),
		broken:   "The list of revoked credentials gets a line that is not an ID.",
		repaired: "The line is removed.",
		begin:    func(ctx context.Context) error { return c.addRevocation(ctx, invalidID) },
		repair:   func(ctx context.Context) error { return c.removeRevocations(ctx, invalidID) },
	}
}

func kubeletStopped(c *cluster) *breakage {
	return &breakage{
		causes: slices.Concat([]cause{{"BulkheadRevocationListsDiffer", map[string]string{"job": jobProxy}}},
			c.onlyWorker("BulkheadKubeletUnreachable")),
		broken: "The kubelet of the worker is stopped, then a credential is revoked. A client requests the log of a pod " +
			"of the worker, through the API server.",
		repaired: "The kubelet is started, and the credential is removed from the list.",
		begin: func(ctx context.Context) error {
			if err := c.onWorker(ctx, "systemctl stop kubelet"); err != nil {
				return err
			}
			return c.addRevocation(ctx, inventedID())
		},
		again: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			for range 3 {
				_, _ = c.podLog(false).DoRaw(ctx)
			}
			return nil
		},
		repair: every(
			func(ctx context.Context) error {
				return c.onWorker(ctx, "systemctl is-active --quiet kubelet || systemctl start kubelet")
			},
			func(ctx context.Context) error { return c.removeRevocations(ctx, inventedPrefix) },
		),
	}
}
