// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"
)

const (
	nodePrefix    = "system:node:"
	nodesGroup    = "system:nodes"
	authenticated = "system:authenticated"
	// KubeletCertificate is the file with the certificate and the key of a kubelet on its host.
	KubeletCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem"
)

// Identity is a user who makes requests to the API server.
type Identity struct {
	User   string
	Groups []string
	// Extra is the extra of the user in reviews. Most identities have none.
	Extra map[string][]string

	config *rest.Config
}

// String returns the user's name.
func (i *Identity) String() string { return i.User }

// AsNode returns the node of that name, by impersonation.
func (c *Cluster) AsNode(name string) *Identity {
	return c.impersonate(nodePrefix+name, nodesGroup, authenticated)
}

// AsUnnamedNode returns a user in the group of nodes whose user name has no node name.
func (c *Cluster) AsUnnamedNode() *Identity {
	return c.impersonate(nodePrefix, nodesGroup, authenticated)
}

// AsGroupOnly returns a user in the group of nodes whose user name is not a node's.
func (c *Cluster) AsGroupOnly() *Identity {
	return c.impersonate("e2e-not-a-node", nodesGroup, authenticated)
}

// AsStranger returns a user with the name of a node who is not in the group of nodes.
func (c *Cluster) AsStranger(name string) *Identity {
	return c.impersonate(nodePrefix+name, authenticated)
}

// AsAdmin returns the administrator of E2E_KUBECONFIG.
func (c *Cluster) AsAdmin() *Identity {
	return &Identity{User: "the administrator", config: c.config}
}

func (c *Cluster) impersonate(user string, groups ...string) *Identity {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return &Identity{User: user, Groups: groups, config: config}
}

// RealKubelet returns the kubelet of a node with its own client certificate, read from the node's
// host. It does not use impersonation.
func (c *Cluster) RealKubelet(ctx context.Context, node string) (*Identity, error) {
	pair, err := c.Host.Run(ctx, node, "cat "+KubeletCertificate)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's certificate: %w", err)
	}
	return c.AsKubelet(node, []byte(pair)), nil
}

// AsKubelet returns the kubelet of a node with the content of its [KubeletCertificate].
func (c *Cluster) AsKubelet(node string, pair []byte) *Identity {
	who := c.AsCertificate(nodePrefix+node, pair, pair)
	who.Groups = []string{nodesGroup, authenticated}
	return who
}

// AsCertificate returns the identity of a client certificate and its key, both PEM. The user is the
// name in the certificate. The certificate may be invalid: the specs test whether a server accepts
// it.
func (c *Cluster) AsCertificate(user string, certificate, key []byte) *Identity {
	config := rest.AnonymousClientConfig(c.config)
	config.CertData, config.KeyData = certificate, key
	return &Identity{User: user, config: config}
}

// Client returns a typed client of this identity.
func (i *Identity) Client() (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(i.config)
}

// Objects returns a client that creates, changes and deletes objects as this identity.
func (i *Identity) Objects() (*resources.Resources, error) {
	objects, err := resources.New(i.config)
	if err != nil {
		return nil, fmt.Errorf("making a client as %s: %w", i.User, err)
	}
	return objects, nil
}

// HTTP returns a client with this identity's credentials and the address of the API server. It is
// for requests that a typed client cannot send.
func (i *Identity) HTTP() (*http.Client, string, error) {
	client, err := rest.HTTPClientFor(i.config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client as %s: %w", i.User, err)
	}
	return client, i.config.Host, nil
}

// NewConnections returns the identity with a new connection for each request, so that a load
// balancer chooses a server for each. failed is called for each connection that brings no answer.
func (i *Identity) NewConnections(failed func(error)) *Identity {
	other := *i
	other.config = rest.CopyConfig(i.config)
	// A connection of HTTP/2 is shared, also by requests that ask to close it.
	other.config.NextProtos = []string{"http/1.1"}
	other.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return closingTransport{next, failed} })
	return &other
}

// closingTransport closes the connection after each request.
type closingTransport struct {
	http.RoundTripper
	failed func(error)
}

func (c closingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Close = true
	response, err := c.RoundTripper.RoundTrip(request)
	if err != nil && request.Context().Err() == nil {
		c.failed(err)
	}
	return response, err
}

// At returns the identity at another address of the cluster, such as one of several API servers.
func (i *Identity) At(address string) *Identity {
	other := *i
	other.config = rest.CopyConfig(i.config)
	other.config.Host = address
	return &other
}
