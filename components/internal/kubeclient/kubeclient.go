// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeclient calls the API server that a kubeconfig names, and reloads the kubeconfig when
// it changes.
//
// client-go reloads certificate and key files, a CA file only every five minutes, and no kubeconfig. In
// this package, a changed kubeconfig or CA file gives new calls a new transport within ten seconds. If
// what changed cannot be loaded, the last good state stays in use.
package kubeclient

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// rereadInterval is how often the kubeconfig and its CA file are checked for changes.
	rereadInterval = 10 * time.Second
	// unlimited disables the rate limit of client-go. Reflectors back off by themselves, and live
	// reads have budgets that are fair between nodes. One more limit for both would make each wait
	// for the other.
	unlimited = -1
	// anyServer is a placeholder for the server in the kubeconfig.
	anyServer = "kubeconfig.invalid"
)

// Client calls the API server of one kubeconfig. It is safe for concurrent use. Create one with
// [New].
type Client struct {
	kubeconfig, userAgent string
	current               atomic.Pointer[server]
}

// server is the content of a kubeconfig, and of its CA file, at the time when they were read.
type server struct {
	content             []byte
	url                 *url.URL
	certificate, caFile string
	transport           http.RoundTripper
}

// New loads the kubeconfig. It makes no request.
func New(kubeconfig, userAgent string) (*Client, error) {
	c := &Client{kubeconfig: kubeconfig, userAgent: userAgent}
	first, err := c.load()
	if err != nil {
		return nil, err
	}
	c.current.Store(first)
	return c, nil
}

// InCluster returns a client set of the pod's service account, whose token client-go reloads by itself.
// The rate of calls is not limited.
func InCluster(userAgent string) (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.QPS, config.ContentConfig = userAgent, unlimited, apiConfig().ContentConfig
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return clientset, nil
}

// Kubernetes returns a client set. Each call goes to the server that the kubeconfig names at the
// time of the call. The rate of calls is not limited.
func (c *Client) Kubernetes() (kubernetes.Interface, error) {
	clientset, err := kubernetes.NewForConfigAndClient(apiConfig(), &http.Client{Transport: c})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return clientset, nil
}

// Metadata returns a client that reads only the metadata of objects. It uses the same server as
// Kubernetes, also without a rate limit.
func (c *Client) Metadata() (metadata.Interface, error) {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(apiConfig()), &http.Client{Transport: c})
	if err != nil {
		return nil, fmt.Errorf("making a client of metadata: %w", err)
	}
	return client, nil
}

func apiConfig() *rest.Config {
	return &rest.Config{
		// The transport replaces this host with the real address.
		Host: "https://" + anyServer,
		QPS:  unlimited,
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

// Files returns the paths of the client certificate and the CA that are in use. A path is empty if
// the kubeconfig contains the data itself.
func (c *Client) Files() (certificate, ca string) {
	current := c.current.Load()
	return current.certificate, current.caFile
}

// Run reloads the kubeconfig when it or its CA file changes, until ctx is done.
func (c *Client) Run(ctx context.Context) {
	ticker := time.NewTicker(rereadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.reread(ctx)
		}
	}
}

func (c *Client) reread(ctx context.Context) {
	next, err := c.load()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Keeping the last good kubeconfig")
		return
	}
	if bytes.Equal(next.content, c.current.Load().content) {
		return
	}
	c.current.Store(next)
	klog.FromContext(ctx).Info("Kubeconfig changed", "file", c.kubeconfig, "server", next.url.String())
}

// RoundTrip sends a request to the server in the kubeconfig. If the request names the address of
// another API server, RoundTrip sends it there, with the same credential and the same certificate
// authority.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	current := c.current.Load()
	req = req.Clone(req.Context())
	req.URL.Scheme, req.Host = current.url.Scheme, ""
	if req.URL.Host == anyServer {
		req.URL.Host = current.url.Host
	}
	return current.transport.RoundTrip(req)
}

func (c *Client) load() (*server, error) {
	content, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	config, err := restConfig(c.kubeconfig, content)
	if err != nil {
		return nil, fmt.Errorf("loading kubeconfig %s: %w", c.kubeconfig, err)
	}
	config.UserAgent = c.userAgent
	s := &server{content: content, certificate: config.CertFile, caFile: config.CAFile}
	if s.caFile != "" {
		// The content instead of the file: client-go keeps a transport for each content.
		config.CAFile = ""
		if config.CAData, err = os.ReadFile(s.caFile); err != nil {
			return nil, fmt.Errorf("reading the CA of kubeconfig %s: %w", c.kubeconfig, err)
		}
		if len(config.CAData) == 0 {
			// Without a CA, client-go would trust the CAs of the system.
			return nil, fmt.Errorf("the CA of kubeconfig %s: %s is empty", c.kubeconfig, s.caFile)
		}
		s.content = append(s.content, config.CAData...)
	}
	return s, s.connect(config)
}

// connect prepares the transport. It makes no request.
func (s *server) connect(config *rest.Config) (err error) {
	if s.url, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return fmt.Errorf("address in kubeconfig: %w", err)
	}
	if s.transport, err = rest.TransportFor(config); err != nil {
		return fmt.Errorf("preparing the transport: %w", err)
	}
	return nil
}

// restConfig parses content as the kubeconfig at path. So the bytes that are compared are the bytes
// that are used.
func restConfig(path string, content []byte) (*rest.Config, error) {
	kubeconfig, err := clientcmd.Load(content)
	if err != nil {
		return nil, err
	}
	for _, cluster := range kubeconfig.Clusters {
		cluster.LocationOfOrigin = path
	}
	for _, who := range kubeconfig.AuthInfos {
		who.LocationOfOrigin = path
	}
	if err := clientcmd.ResolveLocalPaths(kubeconfig); err != nil {
		return nil, err
	}
	return clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
}
