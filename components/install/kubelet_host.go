// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	kubeletHealth = "http://127.0.0.1:10248/healthz"
	kubeletPort   = 10250
	proxyName     = "kubelet-auth-proxy"
)

// NodeHost is the host that this process runs on.
type NodeHost struct{ Layout Layout }

// Systemctl runs systemctl.
func (NodeHost) Systemctl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "systemctl", args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return string(out), nil
}

// Process reads /proc.
func (NodeHost) Process(pid int) (Process, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return Process{}, err
	}
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return Process{}, err
	}
	p := Process{Args: strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00"), Environment: map[string]string{}}
	for pair := range strings.SplitSeq(string(environ), "\x00") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			p.Environment[key] = value
		}
	}
	return p, nil
}

// Healthy asks /healthz.
func (NodeHost) Healthy(ctx context.Context) error {
	_, err := fetch(ctx, kubeletHealth)
	return err
}

// ProxyAddress looks for a pod of the proxy on this node with the kubelet's own
// credentials, which may read its own pods and Node.
func (h NodeHost) ProxyAddress(ctx context.Context) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", h.Layout.KubeletConf)
	if err != nil {
		return "", err
	}
	config.UserAgent = "bulkhead-installer"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	return proxyAddress(ctx, client, h.Layout.NodeName())
}

func proxyAddress(ctx context.Context, client kubernetes.Interface, name string) (string, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String(),
		LabelSelector: labels.Set{"app.kubernetes.io/name": proxyName, "app.kubernetes.io/part-of": "bulkhead"}.String(),
	})
	if err != nil {
		return "", err
	}
	wanted := false
	for i := range pods.Items {
		wanted = wanted || pods.Items[i].DeletionTimestamp == nil
	}
	if !wanted {
		return "", nil
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return net.JoinHostPort(a.Address, strconv.Itoa(kubeletPort)), nil
		}
	}
	return "", errors.New("this Node has no internal IP in its status")
}
