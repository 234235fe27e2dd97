// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// onlyWorker returns a cause that only the worker's proxy matches.
func (c *cluster) onlyWorker(alert string) []cause {
	return []cause{{alert, map[string]string{"node": c.worker}}}
}

func kubeletNotGuarded(c *cluster) *breakage {
	return &breakage{
		causes:   c.onlyWorker("BulkheadKubeletNotGuarded"),
		broken:   "The files of the worker's kubelet-auth-proxy are removed and its pod is deleted.",
		repaired: "The files are restored and the pod is deleted.",
		begin: func(ctx context.Context) error {
			if err := c.onWorker(ctx, removed(proxyDir)); err != nil {
				return err
			}
			return c.deleteProxy(ctx)
		},
		repair: func(ctx context.Context) error {
			return restoreAndReplace(ctx, c.shWorker, c.replaceProxy, proxyDir)
		},
	}
}

// proxyPods selects the pod of the worker's proxy.
func (c *cluster) proxyPods() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=kubelet-auth-proxy",
		FieldSelector: "spec.nodeName=" + c.worker}
}

func (c *cluster) deleteProxy(ctx context.Context) error {
	return c.client.CoreV1().Pods(systemNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, c.proxyPods())
}

// replaceProxy deletes the pod of the worker's proxy, and waits until another one is ready.
func (c *cluster) replaceProxy(ctx context.Context) error {
	pods := c.client.CoreV1().Pods(systemNamespace)
	before, err := pods.List(ctx, c.proxyPods())
	if err != nil {
		return err
	}
	if err := c.deleteProxy(ctx); err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) error {
		now, err := pods.List(ctx, c.proxyPods())
		if err != nil || len(now.Items) != 1 {
			return fmt.Errorf("the worker has %d pods of kubelet-auth-proxy (%w)", len(now.Items), err)
		}
		if slices.ContainsFunc(before.Items, func(old corev1.Pod) bool { return old.UID == now.Items[0].UID }) {
			return fmt.Errorf("pod %s is being deleted", now.Items[0].Name)
		}
		return running(&now.Items[0])
	})
}

// fewStreams is the flag with which two streams of a namespace are too many.
const fewStreams = "--max-streams-per-user=2"

func streamsShared(c *cluster) *breakage {
	return &breakage{
		causes: c.onlyWorker("BulkheadStreamsShared"),
		broken: "The worker's proxy is started with `" + fewStreams + "`. Four clients follow the log of a pod at the " +
			"same time, through the API server.",
		repaired: "The clients stop. Afterwards, the flag is removed.",
		prepare: func(ctx context.Context) error {
			if err := c.setProxyFlag(ctx, true); err != nil {
				return err
			}
			return c.replaceProxy(ctx)
		},
		again: c.followLogs,
		restore: func(ctx context.Context) error {
			set, err := c.client.AppsV1().DaemonSets(systemNamespace).Get(ctx, proxyDaemonSet, metav1.GetOptions{})
			if err != nil || !streamsChanged(&set.Spec) {
				return err
			}
			// OnDelete stays until the worker's pod is replaced. So the other proxies are not replaced.
			if err := c.setProxyFlag(ctx, false); err != nil {
				return err
			}
			if err := c.replaceProxy(ctx); err != nil {
				return err
			}
			return c.changeProxy(ctx, func(spec *appsv1.DaemonSetSpec) {
				spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
			})
		},
	}
}

// streamsChanged reports whether streamsShared has changed the DaemonSet. A restore that fails may
// have removed the flag only.
func streamsChanged(spec *appsv1.DaemonSetSpec) bool {
	return spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType ||
		slices.Contains(spec.Template.Spec.Containers[0].Command, fewStreams)
}

// changeProxy changes the DaemonSet of the proxies.
func (c *cluster) changeProxy(ctx context.Context, change func(*appsv1.DaemonSetSpec)) error {
	sets := c.client.AppsV1().DaemonSets(systemNamespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set, err := sets.Get(ctx, proxyDaemonSet, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&set.Spec)
		_, err = sets.Update(ctx, set, metav1.UpdateOptions{})
		return err
	})
}

// setProxyFlag adds or removes the flag. The pods are not replaced.
func (c *cluster) setProxyFlag(ctx context.Context, add bool) error {
	return c.changeProxy(ctx, func(spec *appsv1.DaemonSetSpec) {
		spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		command := &spec.Template.Spec.Containers[0].Command
		*command = slices.DeleteFunc(*command, func(flag string) bool { return flag == fewStreams })
		if add {
			*command = append(*command, fewStreams)
		}
	})
}

// podLog requests the log of Prometheus, through the API server and the worker's proxy.
func (c *cluster) podLog(follow bool) *rest.Request {
	return c.client.CoreV1().Pods(promNamespace).GetLogs(promPod,
		&corev1.PodLogOptions{Container: "prometheus", Follow: follow})
}

// followLogs follows the log of Prometheus four times for two seconds.
func (c *cluster) followLogs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			if stream, err := c.podLog(true).Stream(ctx); err == nil {
				_, _ = io.Copy(io.Discard, stream)
				_ = stream.Close()
			}
		})
	}
	clients.Wait()
	return nil
}

// containerd is the process that writes the output of containers to the disk.
const containerd = "$(pgrep -x containerd)"

func auditLogBlocked(c *cluster) *breakage {
	return &breakage{
		causes: c.onlyWorker("BulkheadAuditLogLosesLines"),
		broken: "containerd of the worker is stopped with SIGSTOP for some seconds, again and again. It no longer reads " +
			"the audit log. Meanwhile 300 requests for logs are sent to the proxy.",
		repaired: "containerd continues with SIGCONT.",
		again: func(ctx context.Context) error {
			if err := c.onWorker(ctx, "kill -STOP "+containerd); err != nil {
				return err
			}
			flood := c.onControlPlane(ctx, fmt.Sprintf("curl -sk -o /dev/null --max-time 20 --cert "+
				"/etc/kubernetes/pki/apiserver-kubelet-client.crt --key /etc/kubernetes/pki/apiserver-kubelet-client.key "+
				"'https://%s:10250/containerLogs/%s/none/none?n=[1-300]' || true", c.workerAddress, promNamespace))
			if err := c.onWorker(context.WithoutCancel(ctx), "kill -CONT "+containerd); err != nil {
				return err
			}
			// Prometheus scrapes the counter meanwhile: a scrape is a request that must be in the log too.
			sleep(ctx, 2*scrapeInterval)
			return flood
		},
		repair: func(ctx context.Context) error { return c.onWorker(ctx, "kill -CONT "+containerd+" || true") },
	}
}
