// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Paths on a control-plane host that an installation uses.
const (
	APIServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	ComponentManifest = "/etc/kubernetes/manifests/bulkhead-node-authorizer.yaml"
	StateDirectory    = "/etc/kubernetes/bulkhead"
)

// Installation is what `bulkhead install` was last told on a host.
type Installation struct {
	Profile      Profile `json:"profile"`
	Image        string  `json:"image"`
	Certificates struct {
		Validity    time.Duration `json:"validity"`
		RenewBefore time.Duration `json:"renewBefore"`
	} `json:"certificates"`
}

// ReadInstallation reads the installer's own record, or returns the in-tree
// profile where nothing of ours is installed.
func (c *Cluster) ReadInstallation(ctx context.Context) (Installation, error) {
	in := Installation{Profile: InTree}
	record, err := c.Host.Run(ctx, c.ControlPlane, "cat "+StateDirectory+"/state/record.json 2>/dev/null || true")
	if err != nil || strings.TrimSpace(record) == "" {
		return in, err
	}
	if err := json.Unmarshal([]byte(record), &in); err != nil {
		return in, fmt.Errorf("reading the record of the installation: %w", err)
	}
	return in, nil
}

// Command is the shell command that makes the host what the installation says.
func (in Installation) Command() string {
	if in.Profile == InTree {
		return "bulkhead uninstall"
	}
	command := fmt.Sprintf("bulkhead install --profile=%s --image='%s'", in.Profile, in.Image)
	if in.Certificates.Validity > 0 {
		command += fmt.Sprintf(" --cert-validity=%s --cert-renew-before=%s", in.Certificates.Validity, in.Certificates.RenewBefore)
	}
	return command
}

// LivingFor is the installation with certificates that live so long.
func (in Installation) LivingFor(validity, renewBefore time.Duration) Installation {
	in.Certificates.Validity, in.Certificates.RenewBefore = validity, renewBefore
	return in
}
