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
