// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
)

// LoopbackAnnotation is an annotation of the pods of kubelet-auth-proxy with the value of the cluster.
// The installer writes it into the pod template of the DaemonSet.
//
// A node reads it only from the pod of its own proxy, so a changed annotation affects one node. A node
// can change annotations only of its own mirror pods: it has no right to update pods, and NR-PODMETA-1
// denies a change through the status of a pod (in-tree NodeRestriction allows this one). Nor would it be
// an escalation: root on this node configures its kubelet anyway. A user who may change pods in
// kube-system can replace the image of any proxy, which is more than this setting.
const LoopbackAnnotation = "bulkhead.dev/loopback-clients"

// LoopbackSource is the origin of the setting of a node.
type LoopbackSource string

const (
	// FromFlag is the flag --loopback-clients on this node.
	FromFlag LoopbackSource = "flag"
	// FromCluster is the annotation of the proxy's pod, or the default without one.
	FromCluster LoopbackSource = "cluster"
)

// resolveLoopback sets the setting of the plan: the flag sets the value of a node until the flag is
// given again, and without it a node has the value of the cluster. It fails if this host cannot have
// the setting.
func (p *plan) resolveLoopback(proxy Proxy) error {
	record, err := ReadRecord(p.Layout)
	if err != nil {
		return err
	}
	otherwise, pinned := LoopbackDeny, false
	if record != nil {
		p.formerLoopback, pinned = record.LoopbackClients, record.LoopbackFrom == FromFlag
		if !pinned {
			otherwise = record.LoopbackClients
		}
	}
	p.clusterLoopback, p.loopbackFrom = proxy.LoopbackClients, FromFlag
	switch {
	case p.LoopbackClients == LoopbackCluster, p.LoopbackClients == "" && !pinned:
		p.loopbackFrom = FromCluster
		if p.LoopbackClients, err = proxy.loopbackClients(otherwise); err != nil {
			return err
		}
	case p.LoopbackClients == "":
		p.LoopbackClients = p.formerLoopback
	}
	if err := p.LoopbackClients.Validate(); err != nil {
		return err
	}
	if p.LoopbackClients == LoopbackAllow {
		_, err := readCertificates(p.setup.clientCA)
		return err
	}
	return p.setup.permits(p.LoopbackClients)
}

// loopbackClients returns the value of the cluster. The proxy of an older version has none.
func (p Proxy) loopbackClients(otherwise LoopbackClients) (LoopbackClients, error) {
	if p.LoopbackClients == "" {
		return otherwise, nil
	}
	if err := p.LoopbackClients.Validate(); err != nil {
		return "", fmt.Errorf("cannot read the annotation %s of this node's kubelet-auth-proxy: %w: correct the pod "+
			"template of DaemonSet kube-system/bulkhead-kubelet-auth-proxy, or set --loopback-clients here",
			LoopbackAnnotation, err)
	}
	return p.LoopbackClients, nil
}

// permits fails if flags of the kubelet override the drop-in with this setting.
func (s *setup) permits(clients LoopbackClients) error {
	if clients == LoopbackAllow {
		return nil
	}
	var problems []error
	for _, flag := range s.authFlags {
		problems = append(problems, stronger(flag))
	}
	return errors.Join(problems...)
}

// noteLostClients prints which clients lose access also in mode audit. It prints nothing if the kubelet
// has its proxy already, with the same setting.
func (p *plan) noteLostClients() {
	if p.setup.ours && p.formerLoopback == p.LoopbackClients {
		return
	}
	port := p.setup.readOnlyPort
	switch {
	case port != "" && p.LoopbackClients == LoopbackAllow:
		p.Note("read-only port %s: open on 127.0.0.1 only", port)
	case port != "":
		p.Note("read-only port %s: closed", port)
	}
	if p.setup.anonymous && !p.setup.ours {
		p.Note("requests without credentials: kubelet-auth-proxy answers them with 401")
	}
	if p.setup.alwaysAllow && !p.setup.ours {
		p.Note("authorization mode %s: users without a right by RBAC get 403", alwaysAllow)
	}
}

// noteLoopback prints what the setting allows, and a difference to the former setting or to the
// cluster.
func (p *plan) noteLoopback() {
	switch {
	case p.loopbackFrom == FromCluster && p.formerLoopback != "" && p.formerLoopback != p.LoopbackClients:
		p.Note("loopback clients: %s -> %s, the value of the cluster", p.formerLoopback, p.LoopbackClients)
	case p.loopbackFrom == FromFlag && p.clusterLoopback != "" && p.clusterLoopback != p.LoopbackClients:
		p.Note("loopback clients: %s by the flag of this node. The cluster has %q: to apply it, use "+
			"--loopback-clients=%s", p.LoopbackClients, p.clusterLoopback, LoopbackCluster)
	}
	if p.LoopbackClients == LoopbackAllow {
		p.Note("loopback clients: allow: %s.", p.LoopbackClients.Description())
	}
}
