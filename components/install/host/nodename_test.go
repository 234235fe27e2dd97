// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

func TestNodeName(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	for _, tc := range []struct{ name, user, want string }{
		{"kubelet certificate: its node name", "system:node:Cp-0.example", "Cp-0.example"},
		{"certificate of no node: the host name", "kubernetes-admin", strings.ToLower(host)},
		{"no kubelet: the host name", "", strings.ToLower(host)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			layout := Layout{KubeletConf: filepath.Join(dir, "kubelet.conf")}
			if tc.user != "" {
				writeKubeletConf(t, layout.KubeletConf, tc.user)
			}
			if got := layout.NodeName(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// writeKubeletConf writes a kubeconfig as kubeadm does. The certificate and the key are in one file
// next to it.
func writeKubeletConf(t *testing.T, file, user string) {
	t.Helper()
	dir := filepath.Dir(file)
	ca := PairIn(dir, "ca")
	_, err := pki.EnsureCA(ca, "kubernetes", time.Now())
	must(t, err)
	leaf := pki.Leaf{Name: "kubelet", Pair: PairIn(dir, "kubelet"), Signer: ca, CommonName: user,
		Usage: x509.ExtKeyUsageClientAuth, Mode: 0o600}
	_, err = pki.Rotator{Leaves: []pki.Leaf{leaf}, Policy: pki.Policy{Validity: time.Hour, RenewBefore: 10 * time.Minute},
		Now: time.Now}.Renew(true)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "current.pem"), append(read(t, leaf.KeyFile), read(t, leaf.CertFile)...),
		0o600))
	config := clientcmdapi.NewConfig()
	config.AuthInfos["me"] = &clientcmdapi.AuthInfo{ClientCertificate: "current.pem", ClientKey: "current.pem"}
	config.Contexts["it"] = &clientcmdapi.Context{AuthInfo: "me"}
	config.CurrentContext = "it"
	must(t, clientcmd.WriteToFile(*config, file))
}

var must, read = installtest.Must, installtest.Read
