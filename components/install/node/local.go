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
	"strconv"
	"strings"
	"syscall"
	"time"

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

// ProxyAddress looks for a proxy pod on this node. It uses the kubelet's credentials, which may
// read the pods of this node and its Node.
func (h LocalHost) ProxyAddress(ctx context.Context) (string, error) {
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
		LabelSelector: labels.Set{"app.kubernetes.io/name": host.KubeletAuthProxy,
			"app.kubernetes.io/part-of": "bulkhead"}.String(),
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

// evictGrace is the time that the proxy has to release the port after each signal.
const evictGrace = 5 * time.Second

// Evict ends the proxy if it listens on the kubelet's port. If another program listens there, Evict
// fails and does not end it. The kubelet must not run, because it would start the proxy again.
func (h LocalHost) Evict(ctx context.Context) error {
	signal, deadline := syscall.SIGTERM, time.Now().Add(evictGrace)
	for {
		owners, inUse, err := portOwners("/proc", kubeletPort)
		if err != nil || !inUse {
			return err
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return fmt.Errorf("port %d is still in use by %v", kubeletPort, owners)
			}
			signal, deadline = syscall.SIGKILL, time.Now().Add(evictGrace)
		}
		for pid, name := range owners {
			if name != host.KubeletAuthProxy {
				return fmt.Errorf("port %d is in use by process %d (%s), which is not kubelet-auth-proxy", kubeletPort, pid, name)
			}
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ending kubelet-auth-proxy: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// portOwners returns the processes that listen on a TCP port in this network namespace, with the
// names of their programs. held can be true although holders is empty, if a process is just ending.
func portOwners(proc string, port int) (owners map[int]string, inUse bool, err error) {
	sockets := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(proc, "self", "net", table))
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			return nil, false, err
		}
		listeners(string(data), port, sockets)
	}
	if len(sockets) == 0 {
		return nil, false, nil
	}
	owners = map[int]string{}
	links, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	if err != nil {
		return nil, true, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || !sockets[target] {
			continue // the process has ended, or this is not a socket
		}
		dir := filepath.Dir(filepath.Dir(link))
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		program, _, _ := strings.Cut(string(cmdline), "\x00")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			owners[pid] = filepath.Base(program)
		}
	}
	return owners, true, nil
}

// listeners adds the sockets that listen on port. table is in the format of /proc/net/tcp
// (proc(5)).
func listeners(table string, port int, sockets map[string]bool) {
	const listening, local, state, inode = "0A", 1, 3, 9
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[state] != listening ||
			!strings.HasSuffix(fields[local], fmt.Sprintf(":%04X", port)) {
			continue
		}
		sockets["socket:["+fields[inode]+"]"] = true
	}
}
