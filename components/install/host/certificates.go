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
)

const (
	// NodeAuthorizerUser is who the node authorizer is to the API server. It is
	// bound by RBAC to what it reads, and is no node.
	NodeAuthorizerUser = "bulkhead:node-authorizer"
	// NodeRestrictionUser is who node-restriction is to the API server.
	NodeRestrictionUser = "bulkhead:node-restriction"
	// KubeletApproverUser is who the approver of kubelets' serving certificates is.
	KubeletApproverUser = "bulkhead:kubelet-approver"
	// ScopeSyncUser is who keeps the lists of accounts that are held to their nodes.
	ScopeSyncUser = "bulkhead:scope-sync"
	// KubeletProxyUser is who kubelet-auth-proxy is to the kubelet of its own node.
	KubeletProxyUser = "bulkhead:kubelet-auth-proxy"
	// ComponentsGroup is the group of all our identities.
	ComponentsGroup = "bulkhead:components"
	// APIServerClient is the name that our components serve, and no other.
	APIServerClient = "bulkhead:kube-apiserver"
)

// CA is our certificate authority: webhook servers and their one client.
func (l Layout) CA() pki.Pair { return PairIn(l.PKI(), "ca") }

// KubeCA is the cluster's certificate authority.
func (l Layout) KubeCA() pki.Pair { return PairIn(l.KubePKI, "ca") }

// Keeper keeps alive every certificate of an installation.
func (l Layout) Keeper(policy pki.Policy, now func() time.Time) pki.Keeper {
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
	return pki.Keeper{Policy: policy, Now: now, Lock: l.PKI(), Leaves: leaves}
}

// KubeletKeeper keeps alive the one certificate that a kubelet's proxy has.
func (l Layout) KubeletKeeper(policy pki.Policy, now func() time.Time) pki.Keeper {
	return pki.Keeper{Policy: policy, Now: now, Lock: l.Node(), Leaves: []pki.Leaf{{
		Name: "kubelet-auth-proxy-client", Pair: PairIn(l.KubeletProxy(), "client"), Trust: l.KubeletClientCA(),
		CommonName: KubeletProxyUser, Usage: x509.ExtKeyUsageClientAuth, Mode: 0o640,
	}}}
}

// noticed is how long before its end a client certificate has to be replaced:
// kube-apiserver looks for a new one every five minutes (client-go
// transport/cert_rotation.go, CertCallbackRefreshDuration), and a minute more is
// for the renewer, which looks in turns as well.
const noticed = 6 * time.Minute

// ValidatePolicy refuses a policy under which a certificate would be renewed
// all the time, or never in time.
func ValidatePolicy(p pki.Policy) error {
	if p.RenewBefore <= 0 || p.Validity <= p.RenewBefore {
		return fmt.Errorf("certificates that live %s cannot be renewed %s before they end: --cert-renew-before has to be "+
			"positive and less than --cert-validity", p.Validity, p.RenewBefore)
	}
	if p.RenewBefore < noticed {
		return fmt.Errorf("--cert-renew-before %s: it has to be %s at least, because kube-apiserver looks for a new client "+
			"certificate only every five minutes and would go on with one that has ended", p.RenewBefore, noticed)
	}
	return nil
}

// PairIn names the files of a certificate and its key in dir.
func PairIn(dir, name string) pki.Pair {
	return pki.Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
}
