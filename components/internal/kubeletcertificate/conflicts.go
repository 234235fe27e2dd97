// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletcertificate

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
)

// ControlPlaneLabel is what kubeadm gives the Nodes that run a kube-apiserver
// (cmd/kubeadm/app/constants LabelNodeRoleControlPlane).
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

// Others knows whose a name or an address is. Names and addresses are given, and
// returned, as [nodeaddress.Canonical] spells them. An error means that it is not
// known, and then there is no certificate.
type Others interface {
	// NodeWith returns the name of a Node other than but that is called so, or that has
	// the address in its status; empty if there is none.
	NodeWith(ctx context.Context, address, but string) (node string, err error)
	// ServiceWith says what has the IP as a cluster IP; empty if nothing has.
	ServiceWith(ctx context.Context, ip string) (service string, err error)
	// APIServer returns what the API servers are reached at: the endpoints of the Service
	// default/kubernetes, and what is in the certificates that they serve with.
	APIServer(ctx context.Context) ([]string, error)
}

// TakenProblem names the first name or address in the request that belongs to somebody
// else although the Node's status has it: a Node says of itself what it likes when it
// registers. It is empty if there is none. It is for requests in which [OthersProblem]
// has found nothing.
//
// A Node's own name is its own, whatever others say they are called: the API has it
// once. What two Nodes have in their status is nobody's until somebody decides.
//
// The address of a control plane's node is the API server's, too, and the kubelet there
// needs it. Such a Node is known by [ControlPlaneLabel]: no node gives itself that label,
// neither when it registers nor later (plugin/pkg/admission/noderestriction, KEP-279;
// NR-NODE-3). That it runs a static pod kube-apiserver is no proof, because every
// kubelet can make a mirror pod of that name. And such a Node still gets no cluster IP
// and nothing of another Node, so that one of several control-plane hosts cannot have
// the addresses of the next.
func TakenProblem(ctx context.Context, parsed *x509.CertificateRequest, node *corev1.Node,
	others Others) (problem string, err error) {
	t := taken{node: node, others: others}
	if err := t.findAPIServer(ctx); err != nil {
		return "", err
	}
	for _, ip := range parsed.IPAddresses {
		address := nodeaddress.Canonical(ip.String())
		if problem, err := t.byService(ctx, address); problem != "" || err != nil {
			return problem, err
		}
		if problem, err := t.byOthers(ctx, address); problem != "" || err != nil {
			return problem, err
		}
	}
	for _, name := range parsed.DNSNames {
		if problem, err := t.byOthers(ctx, nodeaddress.Canonical(name)); problem != "" || err != nil {
			return problem, err
		}
	}
	return "", nil
}

// taken is what is known about others for one request.
type taken struct {
	node      *corev1.Node
	others    Others
	apiServer []string
}

func (t *taken) findAPIServer(ctx context.Context) (err error) {
	if _, is := t.node.Labels[ControlPlaneLabel]; !is {
		t.apiServer, err = t.others.APIServer(ctx)
	}
	return err
}

func (t *taken) byService(ctx context.Context, ip string) (string, error) {
	service, err := t.others.ServiceWith(ctx, ip)
	if service == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("subjectAltName %s is the cluster IP of %s", ip, service), nil
}

func (t *taken) byOthers(ctx context.Context, address string) (string, error) {
	if slices.Contains(t.apiServer, address) {
		return fmt.Sprintf("subjectAltName %q is the API server's, and node %q has no label %s", address, t.node.Name,
			ControlPlaneLabel), nil
	}
	// A Node may be called like an IP, which does not make it that machine.
	if _, ip := nodeaddress.ParseIP(address); !ip && address == t.node.Name {
		return "", nil
	}
	owner, err := t.others.NodeWith(ctx, address, t.node.Name)
	if owner == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("subjectAltName %q is that of node %q as well", address, owner), nil
}
