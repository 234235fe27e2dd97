// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
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
	other, err := apiserver.ReadOther(file, hostPath(file))
	switch {
	case errors.Is(err, apiserver.ErrNotOnHost):
		return fmt.Errorf("cannot keep the plugins that kube-apiserver had before Bulkhead: %w. Add its volume to %s", err,
			p.Layout.APIServerManifest())
	case err != nil:
		return fmt.Errorf("cannot read the AdmissionConfiguration that kube-apiserver had before Bulkhead: %w. Restore "+
			"the file. If its plugins are no longer needed, write an AdmissionConfiguration without plugins there", err)
	}
	p.record.AdmissionSource = journal.Hash(other)
	p.admission, err = apiserver.MergeAdmission(p.admission, other, file)
	return err
}

// checkConfigFile returns an error if an uninstallation would set --admission-control-config-file to a
// file with which kube-apiserver does not start. It does not check a file that the server already uses.
func (in *Installer) checkConfigFile(edit Edit) error {
	current, exists, err := atomicfile.Read(in.Layout.APIServerManifest())
	if err != nil || !exists {
		return nil // the step that restores the manifest reports this
	}
	restored, _, err := in.unwiredManifest(current, edit)
	if err != nil {
		return err
	}
	server, err := apiserver.Parse(restored)
	if err != nil {
		return err
	}
	file := server.Admission().ConfigFile
	if now, err := apiserver.Parse(current.Data); err != nil || file == "" || file == now.Admission().ConfigFile {
		return err
	}
	remedy := "Restore the file first. If its plugins are no longer needed, write an AdmissionConfiguration with " +
		"`plugins: []` there"
	other, err := apiserver.ReadOther(file, server.HostPath(file))
	if errors.Is(err, apiserver.ErrNotOnHost) {
		remedy = "Add its volume to " + in.Layout.APIServerManifest() + " first"
	}
	if err == nil {
		err = apiserver.ValidateOther(other, file)
	}
	if err != nil {
		return fmt.Errorf("cannot set --admission-control-config-file=%s again, because kube-apiserver would not start: "+
			"%w. %s", file, err, remedy)
	}
	return nil
}

// lostConfigFile returns the AdmissionConfiguration that kube-apiserver had before Bulkhead, for a host
// that has Bulkhead's flags and no record. Either the record is lost, or kubeadm wrote the flags when
// the host joined. Then only the entries of the other hosts have it.
func (in *Installer) lostConfigFile(ctx context.Context) (string, error) {
	saved, file, err := in.savedConfigFile()
	if err != nil || saved {
		return file, err
	}
	entries, err := hosts.Entries(ctx, in.ConfigMaps)
	if err != nil {
		return "", err
	}
	return configFileIn(entries, in.Layout.NodeName())
}

// savedConfigFile returns the AdmissionConfiguration of the saved manifest. saved is false if there is
// no manifest without Bulkhead.
func (in *Installer) savedConfigFile() (saved bool, file string, err error) {
	original, exists, err := atomicfile.Read(in.Layout.OriginalManifest())
	if err != nil || !exists {
		return false, "", err
	}
	manifest, err := apiserver.Parse(original.Data)
	if err != nil || manifest.AdmissionWired(in.Layout.AdmissionConfig()) {
		return false, "", nil
	}
	return true, manifest.Admission().ConfigFile, nil
}

// configFileIn returns the AdmissionConfiguration in the entries of the hosts. That of the own host
// counts first. Its entry can be from before a join, without the file of the other hosts.
func configFileIn(entries map[string]string, own string) (string, error) {
	known, unknown := hosts.Parse(entries)
	for _, node := range append([]string{own}, slices.Sorted(maps.Keys(known))...) {
		if file := known[node].AdmissionConfig; file != "" {
			return file, nil
		}
	}
	for _, node := range slices.Sorted(maps.Keys(unknown)) {
		return "", fmt.Errorf("cannot find out whether kube-apiserver had an AdmissionConfiguration before Bulkhead: %w. "+
			"Run `bulkhead install` on that host, or remove its entry from ConfigMap %s", unknown[node], hosts.ConfigMapName)
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
		in.noteLost(err)
	}
	record.APIServer.Admission.ConfigFile, record.Kubeadm.Admission.ConfigFile = file, file
	return record
}

// noteLost says what to do if lostConfigFile fails in an uninstallation.
func (in *Installer) noteLost(err error) {
	in.Note("%v\n             If kube-apiserver had an AdmissionConfiguration before Bulkhead, set "+
		"--admission-control-config-file again", err)
}

// OtherPlugins describes for `bulkhead status` the other AdmissionConfiguration whose plugins
// Bulkhead's file keeps. It is empty if there is none.
func (r Record) OtherPlugins(l host.Layout, server *apiserver.Manifest) string {
	file, now := r.APIServer.Admission.ConfigFile, server.Admission().ConfigFile
	switch {
	case now == "":
		return ""
	case now != l.AdmissionConfig():
		return "kube-apiserver reads " + now + " and not Bulkhead's file, so it calls node-restriction without its " +
			"certificate (before Kubernetes 1.37) or not at all: run `bulkhead install` on this host again"
	case file == "":
		return ""
	}
	other, err := apiserver.ReadOther(file, server.HostPath(file))
	switch {
	case err != nil:
		return "Bulkhead's file includes plugins of a file that cannot be read: " + err.Error()
	case journal.Hash(other) != r.AdmissionSource:
		return file + " was changed and is not in force: run `bulkhead install` on this host again"
	}
	return "Bulkhead's file includes the plugins of " + file
}
