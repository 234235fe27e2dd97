// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package realkubelet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/probe"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
)

var (
	errNoCluster = errors.New("no cluster (E2E_KUBECONFIG, KUBECONFIG)")
	errNoNode    = errors.New("the cluster has no such control-plane node")
)

// node is one on whose host commands can be run.
type node struct {
	name, address, version string
	exec                   string
}

// found is what a kubelet of that version took.
type found struct {
	version string
	took    []probe.Took
}

// findNode finds a control-plane node: its host has the API server's client
// certificate, which may read everything through the proxy.
func findNode(ctx context.Context) (*node, error) {
	kubeconfig := cmp.Or(os.Getenv("E2E_KUBECONFIG"), os.Getenv("KUBECONFIG"))
	if kubeconfig == "" {
		return nil, errNoCluster
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane"})
	if err != nil {
		return nil, err
	}
	wanted := os.Getenv("E2E_CONTROL_PLANE")
	for i := range nodes.Items {
		if n := &nodes.Items[i]; wanted == "" || n.Name == wanted {
			return &node{
				name: n.Name, address: addressOf(n), version: n.Status.NodeInfo.KubeletVersion,
				exec: cmp.Or(os.Getenv("E2E_NODE_EXEC"), "docker exec -i {node}"),
			}, nil
		}
	}
	return nil, errNoNode
}

func addressOf(n *corev1.Node) string {
	for _, address := range n.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return n.Name
}

// Where kubeadm and the installer put what is shown to the proxy and to the kubelet.
const (
	apiServerClient = "/etc/kubernetes/pki/apiserver-kubelet-client"
	proxyClient     = "/etc/kubernetes/bulkhead/kubelet-auth-proxy/client"
	kubeletPort     = "10250"
	// programs is where the probe is put. The host's /tmp need not let programs run: a
	// kind node's does not.
	programs = "/usr/local/bin"
)

// measure puts the probe on the node's host, runs it and takes it away.
func (n *node) measure(ctx context.Context, plan sides.Plan) (result *found, err error) {
	if _, err := n.run(ctx, "test -e "+proxyClient+".crt && test -e "+apiServerClient+".crt"); err != nil {
		return nil, fmt.Errorf("%s has no kubelet-auth-proxy, or its host cannot be reached: %w", n.name, err)
	}
	program := fmt.Sprintf("%s/bulkhead-nodeprobe-%d", programs, os.Getpid())
	// Also if it is only half there, or we are interrupted.
	defer func() {
		_, gone := n.run(context.WithoutCancel(ctx), "rm -f "+program)
		err = errors.Join(err, gone)
	}()
	if err := n.put(ctx, plan.Root, program); err != nil {
		return nil, err
	}
	out, err := n.run(ctx, fmt.Sprintf(
		"%s -proxy=%s -proxy-cert=%s -direct=%s -direct-cert=%s -paths=%s -runs=%d -turn=%v", program,
		net.JoinHostPort(n.address, kubeletPort), apiServerClient, net.JoinHostPort("127.0.0.1", kubeletPort), proxyClient,
		strings.Join(paths, ","), plan.Runs, plan.Turn))
	if err != nil {
		return nil, err
	}
	result = &found{version: n.version}
	return result, json.Unmarshal(out, &result.took)
}

// put builds the probe and has it on the node's host. It travels as text in a script,
// so that the command that reaches the host has to carry nothing else.
func (n *node) put(ctx context.Context, root, program string) error {
	return loopback.InDirectory(func(dir string) error {
		built := filepath.Join(dir, "nodeprobe")
		if err := child.Build(ctx, filepath.Join(root, "components/kubeletauth/againstupstream"), "-o", built, "./cmd/nodeprobe"); err != nil {
			return err
		}
		binary, err := os.ReadFile(built)
		if err != nil {
			return err
		}
		_, err = n.run(ctx, fmt.Sprintf("base64 -d >%[1]s <<'END' && chmod 700 %[1]s\n%[2]s\nEND\n", program, base64.StdEncoding.EncodeToString(binary)))
		return err
	})
}

// run runs a shell script as root on the node's host and returns what it printed. The
// script travels on standard input, so that nothing has to quote it.
func (n *node) run(ctx context.Context, script string) ([]byte, error) {
	argv := append(strings.Fields(strings.ReplaceAll(n.exec, "{node}", n.name)), "sh", "-s")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(script)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w %s", err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}
