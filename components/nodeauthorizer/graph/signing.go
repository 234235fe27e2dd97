// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// SetCertificateSigningRequest relates the request to the node that made it. The
// API server writes the user into it, and nobody can change that. A request of
// anybody else, a bootstrapping kubelet among them, is related to no node.
func (g *Graph) SetCertificateSigningRequest(request *certificatesv1.CertificateSigningRequest) {
	g.signing.Lock()
	defer g.signing.Unlock()
	g.setSigning(request)
}

// DeleteCertificateSigningRequest forgets the request.
func (g *Graph) DeleteCertificateSigningRequest(name string) {
	g.signing.Lock()
	defer g.signing.Unlock()
	g.unbind(CertificateSigningRequest, "", name)
}

// ReplaceCertificateSigningRequests makes the graph agree with the list.
func (g *Graph) ReplaceCertificateSigningRequests(requests []*certificatesv1.CertificateSigningRequest) {
	g.signing.Lock()
	defer g.signing.Unlock()
	replace(g.known(CertificateSigningRequest), requests, g.setSigning, func(namespace, name string) {
		g.unbind(CertificateSigningRequest, namespace, name)
	})
}

func (g *Graph) setSigning(request *certificatesv1.CertificateSigningRequest) {
	node, ok := strings.CutPrefix(request.Spec.Username, nodeidentity.Prefix)
	if !ok {
		node = ""
	}
	g.bind(CertificateSigningRequest, "", request.Name, node)
}
