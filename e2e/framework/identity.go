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
	// kubeletCertificate holds certificate and key of a kubelet on its host.
	kubeletCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem"
)

// Identity is somebody who asks the API server for something.
type Identity struct {
	User   string
	Groups []string
	// Extra is what a token says besides, for reviews. Most have none.
	Extra map[string][]string

	config *rest.Config
}

// String is the user's name.
func (i *Identity) String() string { return i.User }

// AsNode is the node of that name, by impersonation.
func (c *Cluster) AsNode(name string) *Identity {
	return c.impersonate(nodePrefix+name, nodesGroup, authenticated)
}

// AsUnnamedNode is in the group of nodes and does not say which node it is.
func (c *Cluster) AsUnnamedNode() *Identity {
	return c.impersonate(nodePrefix, nodesGroup, authenticated)
}

// AsGroupOnly is in the group of nodes under a name that is not a node's.
func (c *Cluster) AsGroupOnly() *Identity {
	return c.impersonate("e2e-not-a-node", nodesGroup, authenticated)
}

// AsStranger has the name of a node and is not in the group of nodes.
func (c *Cluster) AsStranger(name string) *Identity {
	return c.impersonate(nodePrefix+name, authenticated)
}

// AsAdmin is the administrator of E2E_KUBECONFIG.
func (c *Cluster) AsAdmin() *Identity {
	return &Identity{User: "the administrator", config: c.config}
}

func (c *Cluster) impersonate(user string, groups ...string) *Identity {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return &Identity{User: user, Groups: groups, config: config}
}

// RealKubelet is the kubelet of a node: its own client certificate, read from
// the node's host, and nothing impersonated.
func (c *Cluster) RealKubelet(ctx context.Context, node string) (*Identity, error) {
	pair, err := c.Host.Run(ctx, node, "cat "+kubeletCertificate)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's certificate: %w", err)
	}
	who := c.Holding(nodePrefix+node, []byte(pair), []byte(pair))
	who.Groups = []string{nodesGroup, authenticated}
	return who, nil
}

// Holding is whoever has a client certificate and its key, both PEM. The user is what
// the certificate says; whether anybody believes it is for others to find out.
func (c *Cluster) Holding(user string, certificate, key []byte) *Identity {
	config := rest.AnonymousClientConfig(c.config)
	config.CertData, config.KeyData = certificate, key
	return &Identity{User: user, config: config}
}

// Client is a typed client of this identity.
func (i *Identity) Client() (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(i.config)
}

// Objects makes, changes and removes objects as this identity.
func (i *Identity) Objects() (*resources.Resources, error) {
	objects, err := resources.New(i.config)
	if err != nil {
		return nil, fmt.Errorf("making a client as %s: %w", i.User, err)
	}
	return objects, nil
}

// HTTP is a client with this identity's credentials and the address of the API
// server, for what no typed client would send.
func (i *Identity) HTTP() (*http.Client, string, error) {
	client, err := rest.HTTPClientFor(i.config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client as %s: %w", i.User, err)
	}
	return client, i.config.Host, nil
}
