// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

// KubeletsServe connects to every Node as kube-apiserver would with
// --kubelet-certificate-authority. The error names the nodes that kube-apiserver would reject.
func KubeletsServe(ctx context.Context, client kubernetes.Interface, l host.Layout) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(l.KubeCA().CertFile)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return fmt.Errorf("%s has no certificate in it", l.KubeCA().CertFile)
	}
	return named(nodes.Items, func(node *corev1.Node) error { return kubeletServes(ctx, node, roots) })
}

const (
	// asking limits the concurrent connections to kubelets. mostNodes limits the nodes that an
	// error lists.
	asking    = 16
	mostNodes = 10
)

// named calls ask for all nodes and returns an error with the first nodes that have a problem.
func named(nodes []corev1.Node, ask func(*corev1.Node) error) error {
	problems := make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(asking)
	for i := range nodes {
		group.Go(func() error {
			if err := ask(&nodes[i]); err != nil {
				problems[i] = fmt.Errorf("node %s: %w", nodes[i].Name, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in problems
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if more := len(problems) - mostNodes; more > 0 {
		problems = append(problems[:mostNodes], fmt.Errorf("and %d nodes more", more))
	}
	return errors.Join(problems...)
}

func kubeletServes(ctx context.Context, node *corev1.Node, roots *x509.CertPool) error {
	address := ""
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && address == "" {
			address = a.Address
		}
	}
	if address == "" {
		return errors.New("it has no internal IP")
	}
	port := strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port))
	config := servedBy(roots, "system:node:"+node.Name)
	ours := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := ours(state); err != nil {
			return err
		}
		return state.PeerCertificates[0].VerifyHostname(address)
	}
	_, _, err := getTLS(ctx, net.JoinHostPort(address, port), "/healthz", config)
	return err
}
