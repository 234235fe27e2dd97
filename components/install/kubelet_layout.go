// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// KubeletProxyUser is who kubelet-auth-proxy is to the kubelet of its own node.
const KubeletProxyUser = "bulkhead:kubelet-auth-proxy"

// Node is the directory with what belongs to this host as a node: the certificate that the
// kubelet accepts, its configuration, and the record. No pod sees it.
func (l Layout) Node() string { return filepath.Join(l.State, "node") }

// KubeletProxy is the directory that kubelet-auth-proxy sees. Without it the proxy's
// pod does not start: so it waits for the kubelet to leave the port.
func (l Layout) KubeletProxy() string { return filepath.Join(l.State, "kubelet-auth-proxy") }

// KubeletClientCA is the kubelet's clientCAFile: the proxy's certificate, and for some minutes
// after a renewal the one before it. It has no authority in it.
func (l Layout) KubeletClientCA() string { return filepath.Join(l.Node(), "kubelet-client-ca.crt") }

// formerClientCAKey is the key of the authority that older versions made on each node.
func (l Layout) formerClientCAKey() string { return filepath.Join(l.Node(), "kubelet-client-ca.key") }

// KubeletConfigDir is what --config-dir says.
func (l Layout) KubeletConfigDir() string { return filepath.Join(l.Node(), "kubelet.conf.d") }

// KubeletDropIn is our part of the kubelet's configuration.
func (l Layout) KubeletDropIn() string {
	return filepath.Join(l.KubeletConfigDir(), "90-bulkhead.conf")
}

// KubeletUnit is our part of the kubelet's unit. It is read after kubeadm's.
func (l Layout) KubeletUnit() string {
	return filepath.Join(l.Units, "kubelet.service.d", "90-bulkhead.conf")
}

// RenewService renews the proxy's certificate, and copies what the proxy reads.
func (l Layout) RenewService() string { return filepath.Join(l.Units, renewUnit+".service") }

// RenewTimer says when.
func (l Layout) RenewTimer() string { return filepath.Join(l.Units, renewUnit+".timer") }

// RenewPath has it done at once when what is copied has changed.
func (l Layout) RenewPath() string { return filepath.Join(l.Units, renewUnit+".path") }

// renewal are the units of all three.
func (l Layout) renewal() []string {
	return []string{l.RenewService(), l.RenewTimer(), l.RenewPath()}
}

const renewUnit = "bulkhead-node-renew"

func (l Layout) nodeJournal() string { return filepath.Join(l.Node(), "journal") }
func (l Layout) nodeRecord() string  { return filepath.Join(l.Node(), "record.json") }

// KubeletKeeper keeps alive the one certificate that a kubelet's proxy has.
func (l Layout) KubeletKeeper(policy pki.Policy, now func() time.Time) pki.Keeper {
	return pki.Keeper{Policy: policy, Now: now, Lock: l.Node(), Leaves: []pki.Leaf{{
		Name: "kubelet-auth-proxy-client", Pair: pair(l.KubeletProxy(), "client"), Trust: l.KubeletClientCA(),
		CommonName: KubeletProxyUser, Usage: x509.ExtKeyUsageClientAuth, Mode: 0o640,
	}}}
}

// removeIfEmpty removes the directories that a first installation made.
func (k *KubeletInstaller) removeIfEmpty() {
	for _, dir := range []string{filepath.Dir(k.Layout.KubeletUnit()), k.Layout.Node(), k.Layout.State} {
		_ = os.Remove(dir)
	}
}

// isNew is true for what the journal has and what was not there before.
func isNew(j *journal.Journal, path string) bool {
	for _, e := range j.Entries {
		if e.Name == path {
			return e.Backup == ""
		}
	}
	return false
}
