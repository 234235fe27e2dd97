// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/certificatetimes"
)

const (
	// NodeAuthorizerUser is the user name of node-authorizer at the API server. RBAC limits it to
	// what it reads. It is not a node.
	NodeAuthorizerUser = "bulkhead:node-authorizer"
	// NodeRestrictionUser is the user name of node-restriction at the API server.
	NodeRestrictionUser = "bulkhead:node-restriction"
	// KubeletApproverUser is the user name of the approver of kubelets' serving certificates.
	KubeletApproverUser = "bulkhead:kubelet-approver"
	// ScopeSyncUser is the user name of scope-sync, which updates the lists of scoped accounts.
	ScopeSyncUser = "bulkhead:scope-sync"
	// KubeletProxyUser is the user name of kubelet-auth-proxy at the kubelet of its node.
	KubeletProxyUser = "bulkhead:kubelet-auth-proxy"
	// ComponentsGroup is the group of all users of Bulkhead.
	ComponentsGroup = "bulkhead:components"
	// APIServerClient is the user name of kube-apiserver at Bulkhead's webhooks. They reject all
	// others.
	APIServerClient = "bulkhead:kube-apiserver"
)

// CA is Bulkhead's certificate authority. It signs the certificates of the webhook servers and of
// their one client.
func (l Layout) CA() pki.Pair { return PairIn(l.PKI(), "ca") }

// KubeCA is the cluster's certificate authority.
func (l Layout) KubeCA() pki.Pair { return PairIn(l.KubePKI, "ca") }

// Rotator renews every certificate of an installation.
func (l Layout) Rotator(policy pki.Policy, now func() time.Time) pki.Rotator {
	leaves := []pki.Leaf{{
		Name: "apiserver-client", Pair: PairIn(l.APIServer(), "node-authorizer-client"), Signer: l.CA(),
		CommonName: APIServerClient, Usage: x509.ExtKeyUsageClientAuth, Mode: 0o600,
	}}
	for _, c := range []struct{ name, dir, user string }{
		{"node-authorizer", l.NodeAuthorizer(), NodeAuthorizerUser},
		{"node-restriction", l.NodeRestriction(), NodeRestrictionUser},
	} {
		leaves = append(leaves, pki.Leaf{
			Name: c.name + "-serving", Pair: PairIn(c.dir, "serving"), Signer: l.CA(),
			CommonName: c.user + "-serving", Usage: x509.ExtKeyUsageServerAuth,
			DNSNames: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Mode: 0o640,
		}, pki.Leaf{
			Name: c.name + "-client", Pair: PairIn(c.dir, "client"), Signer: l.KubeCA(),
			CommonName: c.user, Organization: []string{ComponentsGroup},
			Usage: x509.ExtKeyUsageClientAuth, Mode: 0o640,
		})
	}
	for _, c := range []struct{ name, dir, user string }{
		{"kubelet-approver", l.KubeletApprover(), KubeletApproverUser},
		{"scope-sync", l.ScopeSync(), ScopeSyncUser},
	} {
		leaves = append(leaves, pki.Leaf{
			Name: c.name + "-client", Pair: PairIn(c.dir, "client"), Signer: l.KubeCA(),
			CommonName: c.user, Organization: []string{ComponentsGroup},
			Usage: x509.ExtKeyUsageClientAuth, Mode: 0o640,
		})
	}
	return pki.Rotator{Policy: policy, Now: now, Lock: l.PKI(), Leaves: leaves}
}

// KubeletRotator renews the certificate of a node's kubelet-auth-proxy.
func (l Layout) KubeletRotator(policy pki.Policy, now func() time.Time) pki.Rotator {
	return pki.Rotator{Policy: policy, Now: now, Lock: l.Node(), Leaves: []pki.Leaf{{
		Name: "kubelet-auth-proxy-client", Pair: PairIn(l.KubeletProxy(), "client"), Trust: l.KubeletClientCA(),
		CommonName: KubeletProxyUser, Usage: x509.ExtKeyUsageClientAuth, Mode: 0o640,
	}}}
}

// DefaultPolicy returns the policy for the certificates of a control-plane host.
func DefaultPolicy() pki.Policy {
	return pki.Policy{Validity: certificatetimes.DefaultValidity, RenewBefore: certificatetimes.DefaultRenewBefore}
}

// ValidatePolicy rejects a policy that renews a certificate all the time, or too late.
func ValidatePolicy(p pki.Policy) error {
	if p.RenewBefore <= 0 || p.Validity <= p.RenewBefore {
		return fmt.Errorf("certificates that live %s cannot be renewed %s before they end: --cert-renew-before has to be "+
			"positive and less than --cert-validity", p.Validity, p.RenewBefore)
	}
	if p.RenewBefore < certificatetimes.LeastRenewBefore {
		return fmt.Errorf("--cert-renew-before %s: it has to be %s at least, because kube-apiserver looks for a new client "+
			"certificate only every five minutes and would go on with one that has ended", p.RenewBefore,
			certificatetimes.LeastRenewBefore)
	}
	return nil
}

// PairIn returns the file names of a certificate and its key in dir.
func PairIn(dir, name string) pki.Pair {
	return pki.Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
}
