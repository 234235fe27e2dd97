// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// KubeletProxy is the DaemonSet of kubelet-auth-proxy in kube-system.
	KubeletProxy = "bulkhead-kubelet-auth-proxy"

	kubeletProxyContainer = "kubelet-auth-proxy"
	kubeletProxyHealth    = 10466
)

// KubeletPort returns the kubelet port of a node at the node's address. On hardened,
// kubelet-auth-proxy answers there, with a certificate of the cluster.
func (c *Cluster) KubeletPort(ctx context.Context, name string) (*Port, error) {
	node, err := c.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	address, port := InternalIP(node), node.Status.DaemonEndpoints.KubeletEndpoint.Port
	if address == "" || port == 0 {
		return nil, fmt.Errorf("node %s does not say where its kubelet is", name)
	}
	p := &Port{Address: net.JoinHostPort(address, strconv.Itoa(int(port))), Node: name}
	if c.Settings.Profile == Any {
		return p, skipUnlessReachable(ctx, p.Address)
	}
	if c.Settings.Profile != Hardened {
		return p, nil
	}
	p.Guarded, p.pod, p.health = true, KubeletProxy+"-*", kubeletProxyHealth
	p.roots, err = c.clusterCA()
	return p, err
}

// rolloutTimeout bounds a rollout of kubelet-auth-proxy: one node after another, on a busy machine.
const rolloutTimeout = 8 * time.Minute

// AwaitProxies waits for the end of a rollout of kubelet-auth-proxy, if the cluster has it. An
// installation of an earlier spec may have begun it, and each proxy that it replaces refuses connections
// for a moment.
func (c *Cluster) AwaitProxies(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (bool, error) {
		set, err := c.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, KubeletProxy, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		is := set.Status
		return is.ObservedGeneration == set.Generation && is.UpdatedNumberScheduled == is.DesiredNumberScheduled &&
			is.NumberAvailable == is.DesiredNumberScheduled, nil
	}).WithTimeout(rolloutTimeout).WithPolling(time.Second).Should(gomega.BeTrue(), "every proxy is updated and available")
}

// skipUnlessReachable skips a spec if no connection to the address can be opened: a cluster may keep
// its nodes in a network of their own.
func skipUnlessReachable(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: requestTimeout}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		ginkgo.Skip(fmt.Sprintf("the kubelet cannot be reached from here: %v", err), 1)
	}
	return connection.Close()
}

// ServerPort returns the API server's port.
func (c *Cluster) ServerPort() (*Port, error) {
	address, err := url.Parse(c.config.Host)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	p := &Port{Address: address.Host, Node: c.ControlPlane}
	if address.Port() == "" {
		p.Address = net.JoinHostPort(address.Hostname(), "443")
	}
	p.roots, err = c.clusterCA()
	return p, err
}

// KubeletLine is a line of the proxy's audit log (components/kubeletauth/proxy AuditEvent).
type KubeletLine struct {
	Time        time.Time
	Stage       string
	User        string
	Groups      []string
	Node        string
	Namespace   string
	Pod         string
	Container   string
	Method      string
	Path        string
	Verb        string
	Subresource string
	Decision    string
	Rule        string
	Findings    []string
	Cause       string
	CacheHit    bool
	Status      int
	Source      string
	BytesOut    int64
}

// KubeletAudited returns the lines of the proxy's audit log about the connection of a reply, the
// oldest first. It skips lines of earlier connections with the same source port.
func (c *Cluster) KubeletAudited(ctx context.Context, reply Reply) ([]KubeletLine, error) {
	lines, err := c.KubeletLines(ctx, reply.Port, fmt.Sprintf(`"source":%q`, reply.Source))
	return slices.DeleteFunc(lines,
		func(line KubeletLine) bool { return line.Time.Before(reply.Opened.Add(-clockSlack)) }), err
}

// KubeletLines returns the lines of the proxy's audit log that contain a text.
func (c *Cluster) KubeletLines(ctx context.Context, p *Port, text string) ([]KubeletLine, error) {
	log, err := c.Host.Run(ctx, p.Node,
		fmt.Sprintf("cat /var/log/pods/kube-system_%s_*/%s/*.log | { grep -F -e '%s' || true; }",
			p.pod, kubeletProxyContainer, text))
	if err != nil {
		return nil, err
	}
	var lines []KubeletLine
	for row := range strings.Lines(log) {
		// The line begins with the container runtime's time, stream and tag.
		_, text, ok := strings.Cut(row, " stdout F ")
		var line KubeletLine
		if ok && json.Unmarshal([]byte(text), &line) == nil {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// KubeletProxyMetric returns the sum of a proxy's samples of that name whose labels contain the
// given text.
func (c *Cluster) KubeletProxyMetric(ctx context.Context, p *Port, name, labels string) (float64, error) {
	text, err := c.Host.Run(ctx, p.Node,
		fmt.Sprintf("curl -sS --fail --max-time 10 http://127.0.0.1:%d/metrics", p.health))
	if err != nil {
		return 0, err
	}
	return sum(text, name, labels)
}

// KubeletProxyReady returns nil if the proxy reports that it is ready.
func (c *Cluster) KubeletProxyReady(ctx context.Context, p *Port) error {
	_, err := c.Host.Run(ctx, p.Node, fmt.Sprintf("curl -sS --fail --max-time 10 http://127.0.0.1:%d/readyz", p.health))
	return err
}
