// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

const (
	// repairLimit bounds a repair, also after Ctrl-C.
	repairLimit        = 5 * time.Minute
	proxyDaemonSet     = "bulkhead-kubelet-auth-proxy"
	systemNamespace    = metav1.NamespaceSystem
	controlPlaneSelect = "node-role.kubernetes.io/control-plane"
)

// cluster is the reference cluster with one control-plane node and at least one worker.
type cluster struct {
	engine               host.Engine
	client               kubernetes.Interface
	controlPlane, worker string
	// serverAddress and workerAddress are the addresses of the nodes.
	serverAddress, workerAddress string
	// prometheusVersion is the version of Prometheus' Go module.
	kubernetesVersion, prometheusVersion string
	// root is the checkout. output is a folder for what the run builds.
	root, output string
}

func openCluster(ctx context.Context, kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	c := &cluster{}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		return nil, errors.New("cannot find the cluster: no container engine runs; create the cluster with `make up`")
	}
	c.engine = engine
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if _, ok := node.Labels[controlPlaneSelect]; ok {
			c.controlPlane, c.kubernetesVersion = node.Name, node.Status.NodeInfo.KubeletVersion
			c.serverAddress = address(&node)
		} else {
			c.worker, c.workerAddress = node.Name, address(&node)
		}
	}
	if len(nodes.Items) != 2 || c.controlPlane == "" || c.worker == "" {
		return nil, fmt.Errorf("cannot use a cluster with %d nodes: make alerts needs the cluster of `make up`",
			len(nodes.Items))
	}
	_, err = c.client.AppsV1().DaemonSets(systemNamespace).Get(ctx, proxyDaemonSet, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot use the cluster: it needs the profile hardened (`make up`): %w", err)
	}
	return c, nil
}

// sh runs a shell script as root on a node. It returns what the script prints.
func (c *cluster) sh(ctx context.Context, node, script string) (string, error) {
	var log bytes.Buffer
	command := c.engine.Docker("exec", "-i", node, "sh", "-s")
	command.Stdin = strings.NewReader(script)
	out, err := command.Output(ctx, &log)
	if err != nil {
		return out, fmt.Errorf("cannot run %.80q on %s: %w: %.500s", firstLine(script), node, err,
			strings.TrimSpace(log.String()))
	}
	return out, nil
}

func (c *cluster) onControlPlane(ctx context.Context, script string) error {
	_, err := c.sh(ctx, c.controlPlane, script)
	return err
}

func (c *cluster) onWorker(ctx context.Context, script string) error {
	_, err := c.sh(ctx, c.worker, script)
	return err
}

func (c *cluster) shWorker(ctx context.Context, script string) (string, error) {
	return c.sh(ctx, c.worker, script)
}

// asidePrefix begins the paths of saved files. They are on the file system of the originals, and
// outside of all folders that a program reads.
var asidePrefix = "/etc/kubernetes/bulkhead-alerts"

// aside is the path of the original of a file that the run has changed or removed.
func aside(file string) string { return asidePrefix + strings.ReplaceAll(file, "/", "_") }

// saved is a script that copies a file, so that restored can restore it.
func saved(file string) string {
	return fmt.Sprintf("test -e %[2]s || { cp -a %[1]s %[2]s.new && mv %[2]s.new %[2]s; }\n", file, aside(file))
}

// removed is a script that removes a file or a folder, so that restored can restore it.
func removed(file string) string {
	return fmt.Sprintf("test -e %[2]s || mv %[1]s %[2]s\n", file, aside(file))
}

// restored is a script that undoes saved and removed. Without them it does nothing. It prints a line
// if it has restored the file.
func restored(file string) string {
	return fmt.Sprintf("test ! -e %[2]s || { rm -rf %[1]s && mv %[2]s %[1]s && echo restored %[1]s; }\n", file,
		aside(file))
}

// copiedBack is restored, but it keeps the saved file. forgotten removes it.
func copiedBack(file string) string {
	return fmt.Sprintf("test ! -e %[2]s || { rm -rf %[1]s.new && cp -a %[2]s %[1]s.new && rm -rf %[1]s && "+
		"mv %[1]s.new %[1]s && echo restored %[1]s; } || exit 1\n", file, aside(file))
}

// forgotten removes a saved file. The rename comes first, so that no part of it is ever restored.
func forgotten(file string) string {
	return fmt.Sprintf("test ! -e %[1]s || { rm -rf %[1]s.old && mv %[1]s %[1]s.old && rm -rf %[1]s.old; } || exit 1\n",
		aside(file))
}

// restoreAndReplace restores folders and then replaces the pod that uses them. The saved folders stay
// until the pod is replaced. So a second call after an error replaces the pod too.
func restoreAndReplace(ctx context.Context, sh func(context.Context, string) (string, error), replace step,
	folders ...string) error {
	var restore, forget strings.Builder
	restore.WriteString("set -e\n")
	forget.WriteString("set -e\n")
	for _, folder := range folders {
		restore.WriteString(copiedBack(folder))
		forget.WriteString(forgotten(folder))
	}
	out, err := sh(ctx, restore.String())
	if err != nil || out == "" {
		return err
	}
	if err := replace(ctx); err != nil {
		return err
	}
	_, err = sh(ctx, forget.String())
	return err
}

// replaced is a script that replaces the content of a file by a rename, with the same owner and
// mode. edit is a command that changes the copy $f.
func replaced(file, edit string) string {
	return fmt.Sprintf("set -e; f=%[1]s.new; cp -a %[1]s $f; %[2]s; mv $f %[1]s\n", file, edit)
}

// await calls ready until it returns no error, for at most repairLimit.
func await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, repairLimit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		sleep(ctx, time.Second)
		if ctx.Err() != nil {
			return fmt.Errorf("not ready within %v: %w", repairLimit, err)
		}
	}
}

// awaitReady waits until a component on the control-plane node is ready. port is its health port.
func (c *cluster) awaitReady(ctx context.Context, port int) error {
	return await(ctx, func(ctx context.Context) error {
		return c.onControlPlane(ctx, fmt.Sprintf("curl -sS --fail --max-time 5 http://127.0.0.1:%d/readyz", port))
	})
}

// address returns the internal address of a node.
func address(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// firstLine returns the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
