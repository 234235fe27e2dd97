// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// Host answers preflight's questions about this machine.
type Host struct {
	Layout Layout
	// Ports are the addresses on which the node authorizer listens.
	Ports []string
}

// SignerProblem says what keeps the cluster's CA from signing here.
func (h Host) SignerProblem() string {
	ca := h.Layout.KubeCA()
	err := pki.CanSign(ca)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s or %s is missing: the node authorizer's own client certificate (user %s) is made and renewed on this host with the cluster's CA, so bulkhead cannot be installed beside an external CA; put the CA's certificate and key there",
			ca.CertFile, ca.KeyFile, NodeAuthorizerUser)
	}
	return err.Error()
}

// PortHolder tries the ports, unless our own component is there to hold them.
func (h Host) PortHolder() string {
	if _, err := os.Stat(h.Layout.NodeAuthorizerManifest()); err == nil {
		return ""
	}
	var listen net.ListenConfig
	for _, address := range h.Ports {
		listener, err := listen.Listen(context.Background(), "tcp", address)
		if err != nil {
			return fmt.Sprintf("%s is taken (%v): the node authorizer needs it; see `ss -ltnp` for who holds it", address, err)
		}
		_ = listener.Close()
	}
	return ""
}
