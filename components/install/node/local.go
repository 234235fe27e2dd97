// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

const (
	kubeletHealth = "http://127.0.0.1:10248/healthz"
	kubeletPort   = 10250
)

// LocalHost is the host on which this process runs.
type LocalHost struct{ Layout host.Layout }

// Systemctl runs systemctl.
func (LocalHost) Systemctl(ctx context.Context, args ...string) (string, error) {
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
func (LocalHost) Process(pid int) (Process, error) {
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

// Healthy checks /healthz.
func (LocalHost) Healthy(ctx context.Context) error {
	_, err := host.Fetch(ctx, kubeletHealth)
	return err
}

// Proxy looks for a proxy pod on this node. It uses the kubelet's credentials, which may read the
// pods of this node and its Node.
func (h LocalHost) Proxy(ctx context.Context) (Proxy, error) {
	config, err := clientcmd.BuildConfigFromFlags("", h.Layout.KubeletConf)
	if err != nil {
		return Proxy{}, err
	}
	config.UserAgent = "bulkhead-installer"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Proxy{}, err
	}
	found, err := processes("/proc", host.KubeletAuthProxy)
	if err != nil {
		return Proxy{}, err
	}
	return findPod(ctx, client, h.Layout.NodeName(), len(found) > 0)
}

// findPod returns the proxy from the objects of the API. process is true if it has a process.
func findPod(ctx context.Context, client kubernetes.Interface, name string, process bool) (Proxy, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String(),
		LabelSelector: labels.Set{"app.kubernetes.io/name": host.KubeletAuthProxy,
			"app.kubernetes.io/part-of": "bulkhead"}.String(),
	})
	if err != nil {
		return Proxy{}, err
	}
	at := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && pod.Spec.NodeName == name
	})
	if at < 0 {
		return Proxy{}, nil
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Proxy{}, err
	}
	pod := &pods.Items[at]
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return Proxy{Address: net.JoinHostPort(a.Address, strconv.Itoa(kubeletPort)), Starting: starting(pod, process),
				LoopbackClients: LoopbackClients(pod.Annotations[LoopbackAnnotation])}, nil
		}
	}
	return Proxy{}, errors.New("this Node has no internal IP in its status")
}

// formerVolume delays the pod of an older version until the kubelet has moved. The kubelet cannot
// start such a pod before, so nothing is to be waited for.
const formerVolume = "kubelet-has-moved"

// starting returns "" if the container of the proxy runs. The status of the pod alone is no sign: after
// a restart of the host it is that of the container before, until the kubelet reports again.
func starting(pod *corev1.Pod, process bool) string {
	if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == formerVolume }) {
		return ""
	}
	detail := "the kubelet has not reported it yet"
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != host.KubeletAuthProxy {
			continue
		}
		switch state := status.State; {
		case state.Running != nil && process:
			return ""
		case state.Running != nil:
			detail = "it has no process on this host"
		case state.Waiting != nil:
			detail = strings.TrimSuffix(state.Waiting.Reason+": "+state.Waiting.Message, ": ")
		case state.Terminated != nil:
			detail = fmt.Sprintf("it ended with code %d: %s", state.Terminated.ExitCode, state.Terminated.Reason)
		}
	}
	return fmt.Sprintf("pod %s/%s does not run: %s", pod.Namespace, pod.Name, detail)
}
