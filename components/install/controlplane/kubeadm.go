// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// objectKubeadm is the name of kubeadm's ClusterConfiguration in the journal.
const objectKubeadm = "kubeadm-config"

// tellKubeadm edits the configuration from which kubeadm writes the manifest of every host. It must
// not name a file that a host does not have: kube-apiserver would not start there. So the last host
// of the control plane edits it, when all hosts need the same flags.
func (p *plan) tellKubeadm(ctx context.Context) (bool, error) {
	current, err := p.Kubeadm.KubeadmConfig(ctx)
	if err != nil {
		return false, err
	}
	if current == "" {
		p.Note("this cluster has no ConfigMap kubeadm-config: edit the source of kube-apiserver's " +
			"manifest by hand")
		return false, nil
	}
	others, err := p.waitOtherHosts(ctx)
	if err != nil {
		return false, err
	}
	if len(others.missing) > 0 {
		return false, p.deferKubeadm(current, others)
	}
	return p.Kubeadm.EditKubeadmConfig(ctx, func(current string) (string, error) {
		edited, wrote, err := p.wireKubeadm(current)
		if err != nil || edited == current {
			return current, err
		}
		if err := p.journal.Object(objectKubeadm, []byte(current)); err != nil {
			return "", err
		}
		p.record.Kubeadm.Written = journal.Hash([]byte(edited))
		if wrote {
			p.Note("kubeadm names Bulkhead's files from now on: before `kubeadm join --control-plane`, run `bulkhead "+
				"prepare%s` on the new host", p.prepareFlags())
		}
		return edited, p.journal.Wrote(objectKubeadm, []byte(edited))
	})
}

// prepareFlags returns the flags that `bulkhead prepare` needs on a host that will join.
func (p *plan) prepareFlags() string {
	if file := p.record.APIServer.Admission.ConfigFile; file != "" {
		return " --" + PrepareAdmissionFlag + "=" + file
	}
	return ""
}

// wireKubeadm returns the configuration with Bulkhead's flags, and records how to undo this. saved is
// true if it has saved a configuration without Bulkhead.
func (p *plan) wireKubeadm(current string) (edited string, saved bool, err error) {
	p.rememberKubeadm(current)
	wiring := kubeadmWiring(p.Layout, p.record)
	edited, err = kubeadmconfig.Wire(current, wiring, p.record.Kubeadm.kubeadm())
	if err != nil || kubeadmconfig.Wired(current, wiring) {
		return edited, false, err
	}
	_, err = p.write(p.Layout.OriginalKubeadm(), []byte(current), 0o600)
	return edited, true, err
}

// deferKubeadm leaves the edit to another host. It saves the original, so that each host can restore
// it later.
func (p *plan) deferKubeadm(current string, others otherHosts) error {
	edited, saved, err := p.wireKubeadm(current)
	if err != nil {
		return err
	}
	names := strings.Join(others.missing, ", ")
	switch {
	case edited == current && len(others.stopped) > 0: // an older version has edited it, or a host has joined since
		p.Note("kubeadm-config names Bulkhead's files, but node-authorizer does not run on %s: if such a host does not "+
			"have these files, `kubeadm upgrade` fails there. Run `bulkhead install` on it",
			strings.Join(others.stopped, ", "))
	case edited == current:
	case saved:
		p.Note("kubeadm-config does not name Bulkhead's files until `bulkhead install` with these settings has run on: "+
			"%s\n             Until then, `kubeadm upgrade` on a host with Bulkhead takes Bulkhead out of kube-apiserver "+
			"there, until `bulkhead install` runs again", names)
	default:
		p.Note("kubeadm-config keeps the flags of the former settings until `bulkhead install` with these settings has "+
			"run on: %s\n             `kubeadm upgrade` on this host writes those flags: run `bulkhead install` after it",
			names)
	}
	return nil
}

// rememberKubeadm records the old state of the flags that Bulkhead edits.
func (p *plan) rememberKubeadm(current string) {
	wiring, read := kubeadmWiring(p.Layout, p.record), kubeadmconfig.Read(current)
	if !kubeadmconfig.Wired(current, wiring) {
		p.record.Kubeadm = Edit{Modes: read.Modes}
	} else if !p.isFromOriginal(p.record.Kubeadm, current) {
		p.record.Kubeadm.Drifted = true
	}
	switch {
	case !kubeadmconfig.AdmissionWired(current, wiring) && kubeadmconfig.Wired(current, wiring) && read.ConfigFile != "":
		// A user has replaced only the name of Bulkhead's file. The other flags are Bulkhead's.
		p.record.Kubeadm.Admission.ConfigFile = read.ConfigFile
	case !kubeadmconfig.AdmissionWired(current, wiring):
		p.record.Kubeadm.Admission = read.Before
	case p.before == nil:
		// Another host has edited it. kubeadm wrote the flags of this host from it.
		p.record.Kubeadm.Admission.ConfigFile = p.record.APIServer.Admission.ConfigFile
	case p.before.APIServer.Admission.ConfigFile != p.record.APIServer.Admission.ConfigFile:
		// A user has written the name of a new file on all hosts, and another host has edited this text
		// already. The saved text does not have that name.
		p.record.Kubeadm.Admission.ConfigFile = p.record.APIServer.Admission.ConfigFile
		p.record.Kubeadm.Drifted = true
	}
}

// isFromOriginal is true if the text has Bulkhead's edits and no other change since the original was
// saved. Another host may have edited it, with the same or other settings.
func (in *Installer) isFromOriginal(edit Edit, current string) bool {
	if journal.Hash([]byte(current)) == edit.Written {
		return true
	}
	original, saved, err := atomicfile.Read(in.Layout.OriginalKubeadm())
	if err != nil || !saved {
		return false
	}
	// Bulkhead's own edit has the layout that its removal gives to any text.
	edited, err := kubeadmconfig.Wire(string(original.Data), kubeadmWiring(in.Layout, Record{Profile: Hardened}),
		edit.kubeadm())
	if err != nil {
		return false
	}
	unwiring := kubeadmWiring(in.Layout, Record{Profile: InTree})
	want, err := kubeadmconfig.Unwire(edited, unwiring, edit.kubeadm())
	if err != nil {
		return false
	}
	got, err := kubeadmconfig.Unwire(current, unwiring, edit.kubeadm())
	return err == nil && got == want
}

// tryRestoreKubeadm restores the configuration if the API answers. Otherwise removeEntry does it,
// after kube-apiserver is restored.
func (in *Installer) tryRestoreKubeadm(ctx context.Context, edit Edit) (bool, error) {
	changed, err := in.restoreKubeadm(ctx, edit)
	if err != nil && ctx.Err() == nil {
		in.Note("cannot restore it yet: %v\n             it is restored after kube-apiserver", err)
		return false, nil
	}
	return changed, err
}

// restoreKubeadm removes Bulkhead's edits, also if other hosts have Bulkhead: kubeadm must not name
// files that this host is about to lose.
func (in *Installer) restoreKubeadm(ctx context.Context, edit Edit) (bool, error) {
	original, saved, err := atomicfile.Read(in.Layout.OriginalKubeadm())
	if err != nil {
		return false, err
	}
	changed, err := in.Kubeadm.EditKubeadmConfig(ctx, func(current string) (string, error) {
		if saved && !edit.Drifted && in.isFromOriginal(edit, current) {
			return string(original.Data), nil
		}
		return kubeadmconfig.Unwire(current, kubeadmWiring(in.Layout, Record{Profile: InTree}), edit.kubeadm())
	})
	if err != nil || !changed {
		return changed, err
	}
	return true, in.noteUnwired(ctx)
}

// noteUnwired says what the edit means for the other hosts.
func (in *Installer) noteUnwired(ctx context.Context) error {
	others, err := in.elsewhere(ctx)
	if others != "" {
		in.Note("Bulkhead runs on %s too, but kubeadm-config does not name its files any more:\n             `kubeadm "+
			"upgrade` on such a host takes Bulkhead out of kube-apiserver there, until `bulkhead install` runs again",
			others)
	}
	return err
}

// revertKubeadm reverts the edit of an object that all control-plane hosts share. Later changes by
// others stay. If this host had no Bulkhead before, its files are about to be removed, so the edit
// does not stay for other hosts.
func (in *Installer) revertKubeadm(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	saved, err := j.Before(e)
	if err != nil {
		return err
	}
	before, unwiring := string(saved), kubeadmWiring(in.Layout, Record{Profile: InTree})
	wasWired := kubeadmconfig.Wired(before, unwiring)
	changed, err := in.Kubeadm.EditKubeadmConfig(ctx, func(current string) (string, error) {
		switch {
		case current == before || e.Wrote([]byte(current)):
			return before, nil
		case wasWired:
			in.Note("kubeadm-config was changed since then: it stays as it is")
			return current, nil
		}
		in.Note("kubeadm-config was changed since then: Bulkhead's edits are taken out of it, the rest is " +
			"kept")
		return kubeadmconfig.Unwire(current, unwiring, kubeadmconfig.Read(before))
	})
	if err != nil || !changed || wasWired {
		return err
	}
	return in.noteUnwired(ctx)
}
