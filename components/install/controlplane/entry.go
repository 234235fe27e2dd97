// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
)

// objectEntry is the prefix of a host's entry in the journal.
const objectEntry = "host:"

// lockGrace is how long a run waits for an API that does not answer before it begins without the lock.
const lockGrace = 5 * time.Second

// lockedForAllHosts runs change while no installer runs on another host. If the API does not answer,
// change runs without the lock: it may be the change that repairs the API server.
func (in *Installer) lockedForAllHosts(ctx context.Context, restart time.Duration,
	change func(*hosts.Lock) error) error {
	lock := hosts.NewLock(in.Leases, in.Layout.NodeName(), restart, in.Now)
	var held error
	// In its first seconds a server can deny even the administrator's requests.
	err := in.Until(ctx, lockGrace, "the lock", func(ctx context.Context) error {
		err := lock.Acquire(ctx)
		if errors.As(err, &hosts.HeldError{}) {
			held = err // waiting does not help
			return nil
		}
		return err
	})
	switch {
	case held != nil:
		return held
	case err != nil && ctx.Err() != nil:
		return err
	case errors.As(err, &x509.UnknownAuthorityError{}):
		// Every wait for kube-apiserver would fail, but only after the first changes.
		return fmt.Errorf("cannot verify kube-apiserver on this host: the kubeconfig has another CA: %w\nnothing has been "+
			"changed: run this again with an administrator's kubeconfig of this cluster (--kubeconfig)", err)
	case err != nil:
		in.Note("%v\n             this run begins without the lock: run bulkhead on no other control-plane host meanwhile",
			err)
	}
	defer func() {
		if err != nil {
			// The API may answer now. Then this removes the Lease of a run that was killed.
			_ = lock.Acquire(ctx)
		}
		if by := lock.Release(); by != "" {
			in.Note("bulkhead on host %q has taken over the lock while this run had no connection: check both hosts with "+
				"`bulkhead status`", by)
		}
	}()
	return change(lock)
}

// checkVersions returns an error if a host was installed by a newer version of the program.
func (p *plan) checkVersions(ctx context.Context) error {
	entries, err := hosts.Entries(ctx, p.ConfigMaps)
	if err != nil {
		return err
	}
	notes, err := hosts.CheckVersion(hosts.Program{Version: p.Version, Committed: p.Committed}, entries)
	for _, note := range notes {
		p.Note("%s", note)
	}
	if err != nil && p.AllowDowngrade {
		p.Note("--%s: %v", hosts.DowngradeFlag, err)
		return nil
	}
	return err
}

// wiringHash identifies the flags and files that kubeadm must give to kube-apiserver on this host.
func (p *plan) wiringHash() (string, error) {
	text, err := kubeadmconfig.Wire("kind: ClusterConfiguration\n", kubeadmWiring(p.Layout, p.record),
		kubeadmconfig.Before{})
	return journal.Hash([]byte(text)), err
}

// entry returns the encoded entry of this host.
func (p *plan) entry() (string, error) {
	config, err := p.ConfigHash(p.record)
	if err != nil {
		return "", err
	}
	wiring, err := p.wiringHash()
	if err != nil {
		return "", err
	}
	mode, enforced := hosts.Enforce, p.record.Extensions
	if enforced.AuditOnly {
		mode, enforced.AuditOnly = hosts.Audit, false
	}
	h := hosts.Host{Version: p.Version, Committed: p.Committed, Profile: string(p.Profile), Mode: mode, Image: p.Image,
		ConfigHash: config, Modes: enforced.In(p.Profile), Wiring: wiring, VerifyKubelets: p.record.VerifyKubelets,
		AdmissionConfig: p.record.APIServer.Admission.ConfigFile}
	if h.AdmissionConfig != "" {
		// Other hosts accept only such a path. kube-apiserver's container starts in the directory /.
		h.AdmissionConfig = path.Join("/", h.AdmissionConfig)
	}
	setAudit(&h, p.record)
	return h.Encode()
}

// writeEntry writes the entry of this host. It removes the entries of hosts that have no Node any
// more.
func (p *plan) writeEntry(ctx context.Context) (bool, error) {
	text, err := p.entry()
	if err != nil {
		return false, err
	}
	entries, err := hosts.Entries(ctx, p.ConfigMaps)
	if err != nil {
		return false, err
	}
	nodes, err := p.Nodes.ControlPlaneNodes(ctx)
	if err != nil {
		return false, err
	}
	own := p.Layout.NodeName()
	if err := p.journalEntry(own, entries, text); err != nil {
		return false, err
	}
	removed := map[string]bool{}
	changed, err := hosts.Update(ctx, p.ConfigMaps, func(entries map[string]string) {
		entries[own] = text
		for node := range entries {
			if node != own && !slices.Contains(nodes, node) {
				delete(entries, node)
				removed[node] = true
			}
		}
	})
	for node := range removed {
		p.Note("host %q has no control-plane Node any more: its entry is removed", node)
	}
	return changed, err
}

func (p *plan) journalEntry(own string, entries map[string]string, text string) error {
	had, exists := entries[own]
	if exists && had == text {
		return nil
	}
	var before []byte
	if exists {
		before = []byte(had)
	}
	if err := p.journal.Object(objectEntry+own, before); err != nil {
		return err
	}
	return p.journal.Wrote(objectEntry+own, []byte(text))
}

// revertEntry restores the old entry of this host, unless it was changed since.
func (in *Installer) revertEntry(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	before, err := j.Before(e)
	if err != nil {
		return err
	}
	node := strings.TrimPrefix(e.Name, objectEntry)
	_, err = hosts.Update(ctx, in.ConfigMaps, func(entries map[string]string) {
		now, exists := entries[node]
		switch {
		case exists && !e.Wrote([]byte(now)): // another run has written it
		case before == nil:
			delete(entries, node)
		default:
			entries[node] = string(before)
		}
	})
	return err
}

// removeEntry removes the entry of this host. If no other host runs Bulkhead, it removes all. Once
// the entry is removed, no other host names Bulkhead's files in kubeadm-config. So this also removes
// them there, if that was not possible before.
func (in *Installer) removeEntry(ctx context.Context, edit Edit) (bool, error) {
	others, err := in.elsewhere(ctx)
	if err != nil {
		return false, err
	}
	changed, err := hosts.Update(ctx, in.ConfigMaps, func(entries map[string]string) {
		delete(entries, in.Layout.NodeName())
		if others == "" {
			clear(entries)
		}
	})
	if err != nil {
		return false, err
	}
	restored, err := in.restoreKubeadm(ctx, edit)
	return changed || restored, err
}

// removeStaleEntry removes the entry of a host that has none of Bulkhead's files any more.
func (in *Installer) removeStaleEntry(ctx context.Context) (listed bool, err error) {
	entries, err := hosts.Entries(ctx, in.ConfigMaps)
	if err != nil {
		in.Note("%v", err)
		return false, nil
	}
	if _, listed = entries[in.Layout.NodeName()]; !listed {
		return false, nil
	}
	edit := Edit{Drifted: true}
	// Without it, the file that a user had before Bulkhead would be lost in kubeadm-config.
	if edit.Admission.ConfigFile, err = configFileIn(entries, in.Layout.NodeName()); err != nil {
		in.noteLost(err)
	}
	_, err = in.Run(ctx, engine.Step{Name: "remove this host from ConfigMap " + hosts.ConfigMapName,
		Apply: func(ctx context.Context) (bool, error) { return in.removeEntry(ctx, edit) }})
	return true, err
}
