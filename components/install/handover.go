// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// floorReturns is true where in-tree NodeRestriction is off until kube-apiserver
// restarts. Ours is asked about leases and CSINodes only as long as it is off
// (manifests/node-restriction/apiserver/static), and a running server takes a new
// registration at once: so that one is written last, or nobody would check them
// meanwhile. On the way back it is put back at once, while in-tree's plugin still runs.
func (p *plan) floorReturns() bool {
	return p.fromDisk && p.before != nil && p.before.Profile == Parity && p.Profile == Hardened
}

// letGo writes the registration of the new profile and waits until kube-apiserver has
// taken it.
func (p *plan) letGo(ctx context.Context) (changed bool, err error) {
	if changed, err = p.writeRegistration(); err != nil {
		return changed, err
	}
	return changed, p.until(ctx, p.Timeout, "kube-apiserver with the new registration", func(ctx context.Context) error {
		process, err := p.serving(ctx)
		if err != nil {
			return err
		}
		want, err := p.staticHash()
		if err != nil {
			return err
		}
		if process.AdmissionHash != want {
			return fmt.Errorf("it runs with the webhooks from disk %q, not %q", process.AdmissionHash, want)
		}
		return p.nodeCanWrite(ctx)
	})
}

// registrationComesLate is true where the way back is from Parity: in-tree
// NodeRestriction comes back with the old server, and until then ours has to be asked as
// it is now.
func (in *Installer) registrationComesLate(j *journal.Journal) bool {
	return j.Operation == installOperation(Parity) && touched(j, in.Layout.APIServerManifest()) &&
		touched(j, in.Layout.Registration())
}

// installOperation is the name of an installation in the journal.
func installOperation(p Profile) string { return "install " + string(p) }
