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

// ControlPlaneLabel is the label that kubeadm sets on the Nodes that run a kube-apiserver
// (cmd/kubeadm/app/constants LabelNodeRoleControlPlane).
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

// Others finds the owner of a name or an address. Arguments and results are spelled as by
// [nodeaddress.Canonical]. An error means that the owner is unknown. Then the certificate request
// must not be approved.
type Others interface {
	// NodeWith looks for a Node whose name is address, or whose status contains address. It ignores
	// the Node whose name is in but. It returns "" if there is none.
	NodeWith(ctx context.Context, address, but string) (node string, err error)
	// ServiceWith returns what has ip as a cluster IP, or "" if nothing has it.
	ServiceWith(ctx context.Context, ip string) (service string, err error)
	// APIServer returns the names and addresses of the API servers: the endpoints of the Service
	// default/kubernetes, and the names in their serving certificates.
	APIServer(ctx context.Context) ([]string, error)
}

// ConflictProblem returns a message about the first name or address in the request that belongs to
// another Node, a Service or the API server. It returns "" if there is none. The Node's status does
// not prove ownership, because a kubelet chooses its addresses when it registers. Call ConflictProblem
// only if [OthersProblem] has found no problem.
//
// A Node's own name always belongs to that Node, even if another Node's status contains it: a Node
// name is unique in the API. An address in the status of two Nodes belongs to neither, until an
// administrator removes it from one of them.
//
// The address of a control-plane node is also the address of its API server, and its kubelet needs
// it in the certificate. [ControlPlaneLabel] marks such a Node. A node cannot set that label on
// itself, neither when it registers nor later (plugin/pkg/admission/noderestriction, KEP-279;
// NR-NODE-3). A static pod kube-apiserver is no proof, because every kubelet can create a mirror
// pod of that name. A control-plane node still gets no cluster IP and no address of another Node.
// So one control-plane host cannot get the addresses of another one.
func ConflictProblem(ctx context.Context, parsed *x509.CertificateRequest, node *corev1.Node,
	others Others) (problem string, err error) {
	t := conflicts{node: node, others: others}
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

// conflicts is the state of one ConflictProblem call.
type conflicts struct {
	node      *corev1.Node
	others    Others
	apiServer []string
}

func (t *conflicts) findAPIServer(ctx context.Context) (err error) {
	if _, is := t.node.Labels[ControlPlaneLabel]; !is {
		t.apiServer, err = t.others.APIServer(ctx)
	}
	return err
}

func (t *conflicts) byService(ctx context.Context, ip string) (string, error) {
	service, err := t.others.ServiceWith(ctx, ip)
	if service == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("subjectAltName %s is the cluster IP of %s", ip, service), nil
}

func (t *conflicts) byOthers(ctx context.Context, address string) (string, error) {
	if slices.Contains(t.apiServer, address) {
		return fmt.Sprintf("subjectAltName %q is the API server's, and node %q has no label %s", address, t.node.Name,
			ControlPlaneLabel), nil
	}
	// A Node whose name is an IP does not own that IP.
	if _, ip := nodeaddress.ParseIP(address); !ip && address == t.node.Name {
		return "", nil
	}
	owner, err := t.others.NodeWith(ctx, address, t.node.Name)
	if owner == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("subjectAltName %q is that of another node as well", address), nil
}
