// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// keepPlugins adds the plugins of the AdmissionConfiguration that kube-apiserver had before Bulkhead,
// for example PodSecurity: kube-apiserver reads only one such file. hostPath returns the path of a
// container's file on the host.
func (p *plan) keepPlugins(hostPath func(file string) string) error {
	file := p.record.APIServer.Admission.ConfigFile
	if file == "" {
		return nil
	}
	other, err := os.ReadFile(hostPath(file))
	if err != nil {
		return fmt.Errorf("cannot read the AdmissionConfiguration that kube-apiserver had before Bulkhead: %w. Restore "+
			"the file. If its plugins are no longer needed, write an AdmissionConfiguration without plugins there", err)
	}
	p.record.AdmissionSource = journal.Hash(other)
	p.admission, err = apiserver.MergeAdmission(p.admission, other, file)
	return err
}

// lostConfigFile returns the AdmissionConfiguration that kube-apiserver had before Bulkhead, for a host
// that has Bulkhead's flags and no record. Either the record is lost, or kubeadm wrote the flags when
// the host joined. Then only the entries of the other hosts have it.
func (in *Installer) lostConfigFile(ctx context.Context) (string, error) {
	saved, exists, err := atomicfile.Read(in.Layout.OriginalManifest())
	if err != nil {
		return "", err
	}
	if exists {
		manifest, err := apiserver.Parse(saved.Data)
		if err == nil && !manifest.AdmissionWired(in.Layout.AdmissionConfig()) {
			return manifest.Admission().ConfigFile, nil
		}
	}
	entries, err := hosts.Entries(ctx, in.ConfigMaps)
	if err != nil {
		return "", err
	}
	known, _ := hosts.Parse(entries)
	if own, ok := known[in.Layout.NodeName()]; ok {
		return own.AdmissionConfig, nil
	}
	for _, node := range slices.Sorted(maps.Keys(known)) {
		if file := known[node].AdmissionConfig; file != "" {
			return file, nil
		}
	}
	return "", nil
}

// guessRecord replaces a lost record in an uninstallation. It must not fail if the API does not answer.
func (in *Installer) guessRecord(ctx context.Context) *Record {
	record := &Record{
		APIServer: Edit{Modes: apiserver.KubeadmDefault.Modes, Admission: apiserver.KubeadmDefault.Before, Drifted: true},
		Kubeadm:   Edit{Drifted: true},
	}
	file, err := in.lostConfigFile(ctx)
	if err != nil {
		in.Note("cannot find out whether kube-apiserver had an AdmissionConfiguration before Bulkhead: %v\n"+
			"             If it had one, set --admission-control-config-file again", err)
	}
	record.APIServer.Admission.ConfigFile, record.Kubeadm.Admission.ConfigFile = file, file
	return record
}

// OtherPlugins describes for `bulkhead status` the other AdmissionConfiguration whose plugins
// Bulkhead's file keeps. It is empty if there is none.
func (r Record) OtherPlugins(server *apiserver.Manifest) string {
	file := r.APIServer.Admission.ConfigFile
	if file == "" {
		return ""
	}
	other, err := os.ReadFile(server.HostPath(file))
	switch {
	case err != nil:
		return "its file has the plugins of another one, which cannot be read: " + err.Error()
	case journal.Hash(other) != r.AdmissionSource:
		return file + " was changed and is not in force: run `bulkhead install` on this host again"
	}
	return "its file has the plugins of " + file
}
