// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"

	certutil "k8s.io/client-go/util/cert"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// LocalHost is the host on which this process runs.
type LocalHost struct {
	Layout host.Layout
	// Ports are the addresses on which each component listens.
	Ports map[string][]string
}

// SignerProblem returns why the cluster's CA cannot sign on this host.
func (h LocalHost) SignerProblem() string {
	ca := h.Layout.KubeCA()
	err := pki.CanSign(ca)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s or %s is missing: the components' client certificates (users %s and %s) are made and "+
			"renewed on this host with the cluster's CA, so bulkhead cannot be installed beside an external CA; put the CA's "+
			"certificate and key there",
			ca.CertFile, ca.KeyFile, host.NodeAuthorizerUser, host.NodeRestrictionUser)
	}
	return fmt.Sprintf("cannot sign with the cluster's CA on this host: %v. Put the cluster's CA certificate and the key "+
		"that belongs to it there", err)
}

// AdmissionPlugins reads another AdmissionConfiguration as the installer does.
func (h LocalHost) AdmissionPlugins(file, path string) ([]string, error) {
	data, err := apiserver.ReadOther(file, path)
	if err != nil {
		return nil, err
	}
	return apiserver.OtherPlugins(data, file)
}

// KubeletCAProblem compares certificates and not files: the file may have others too.
func (h LocalHost) KubeletCAProblem(path string) string {
	own := h.Layout.KubeCA().CertFile
	if path == "" {
		return fmt.Sprintf("it is not on a volume of this host, so it cannot be compared with the cluster's CA. Use a file "+
			"in %s that contains the certificate in %s", filepath.Dir(own), own)
	}
	authorities, err := certutil.CertsFromFile(path)
	if err != nil {
		return fmt.Sprintf("cannot read it on this host: %v. Restore the file, and append the certificate in %s to it", err,
			own)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		return fmt.Sprintf("cannot compare it with the cluster's CA: %v", err)
	}
	ca, err := pki.ParseCert(data)
	if err != nil {
		return fmt.Sprintf("cannot compare it with the cluster's CA: %s: %v", own, err)
	}
	if slices.ContainsFunc(authorities, ca.Equal) {
		return ""
	}
	return fmt.Sprintf("it does not contain the cluster's CA. Bulkhead keeps the flag, but `bulkhead node install`, also "+
		"in mode audit, gives a kubelet a serving certificate of that CA, so kube-apiserver would lose its logs and exec. "+
		"On every control-plane host, append the certificate in %s to the file, and restart kube-apiserver", own)
}

// ComponentPorts returns the addresses in the manifests of Bulkhead's components.
func ComponentPorts() map[string][]string {
	return map[string][]string{
		host.NodeAuthorizer.Name:  {"127.0.0.1:10461", "127.0.0.1:10462"},
		host.NodeRestriction.Name: {host.RestrictionAddress, "127.0.0.1:10464"},
	}
}

// PortOwner checks the ports. It skips the ports of installed components, which use their ports
// themselves.
func (h LocalHost) PortOwner() string {
	for _, component := range slices.Sorted(maps.Keys(h.Ports)) {
		if _, err := os.Stat(filepath.Join(h.Layout.Manifests, "bulkhead-"+component+".yaml")); err == nil {
			continue
		}
		if owner := portOwner(component, h.Ports[component]); owner != "" {
			return owner
		}
	}
	return ""
}

func portOwner(component string, addresses []string) string {
	var listen net.ListenConfig
	for _, address := range addresses {
		listener, err := listen.Listen(context.Background(), "tcp", address)
		if err != nil {
			return fmt.Sprintf("%s is in use (%v), and %s needs it; `ss -ltnp` shows the process", address, err, component)
		}
		_ = listener.Close()
	}
	return ""
}
