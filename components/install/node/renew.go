// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// renewTimeout is how long a renewal waits for an installation on this host to end.
const renewTimeout = 5 * time.Minute

// Renew replaces the proxy's certificate if it is due. It also updates the proxy's copies of the
// cluster's client CA and of the kubelet's serving certificate. The proxy and the kubelet read
// these files again without a restart. With all, Renew replaces the certificate even if it is not
// due.
func (k *Installer) Renew(ctx context.Context, all bool) (renewed []string, err error) {
	record, err := ReadRecord(k.Layout)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, errors.New("this node has nothing to renew: `bulkhead node install` has not run here, or not to its end")
	}
	copies := k.copies(record.ClientCA, record.Serving)
	if record.Serving == "" { // an older version wrote the record
		copies = copies[:1]
	}
	err = k.LockedWithin(ctx, renewTimeout, func() error {
		// The copies come first: the checks of the kubelet use them to verify its certificate.
		followed, errFirst := k.update(ctx, copies, record.LoopbackClients)
		client, errClient := k.renewClient(ctx, record.Certificates, all, true)
		// A file may have changed while renewClient waited for the kubelet.
		again, errAgain := k.update(ctx, copies, record.LoopbackClients)
		renewed = slices.Concat(followed, client, again)
		return errors.Join(errFirst, errClient, errAgain)
	})
	return renewed, err
}

// update updates the copies, and then the bundle, which depends on one of them. It updates the
// bundle also if a copy failed, because the proxy's certificate may have changed.
func (k *Installer) update(ctx context.Context, copies []copied, clients LoopbackClients) ([]string, error) {
	written, err := k.settled(ctx, copies)
	bundled, errBundle := k.keepBundle(clients == LoopbackAllow)
	if bundled {
		written = append(written, bundleName)
	}
	return written, errors.Join(err, errBundle)
}

// acceptTimeout is how long a kubelet may take to accept a new certificate. The kubelet reads its
// clientCAFile when the file changes, and every minute (k8s.io/apiserver
// pkg/server/dynamiccertificates/dynamic_cafile_content.go FileRefreshDuration).
const acceptTimeout = 90 * time.Second

// renewClient replaces the client certificate of the proxy if it is due. If kubeletReads is true,
// the kubelet already reads the file with the certificate. The proxy then gets the new certificate
// only after the kubelet accepts it.
//
// The journal has no entry for this change: the kubelet accepts the new certificate in the old
// state, too.
//
// Older versions left the key of an authority on the disk. renewClient removes that key last, when
// the kubelet no longer trusts that authority. A killed run is repeated until then.
func (k *Installer) renewClient(
	ctx context.Context, policy pki.Policy, all, kubeletReads bool,
) (renewed []string, err error) {
	rotator := k.Layout.KubeletRotator(policy, k.Now)
	if kubeletReads {
		rotator.Accepted = func(client tls.Certificate) error {
			// With LoopbackAllow, the kubelet reads the bundle.
			if _, err := k.keepBundle(false); err != nil {
				return err
			}
			return k.Until(ctx, acceptTimeout, "the kubelet to accept it", func(ctx context.Context) error {
				return k.System.Accepts(ctx, client)
			})
		}
	}
	if renewed, err = rotator.Renew(all); err != nil {
		return renewed, err
	}
	return renewed, atomicfile.Remove(k.Layout.FormerClientCAKey())
}

// Record is what `bulkhead node install` saves for later runs.
type Record struct {
	// Version is the version of the installer.
	Version string `json:"version"`
	// Certificates is the policy for the certificates.
	Certificates pki.Policy `json:"certificates"`
	// ClientCA and Serving are the source files of the proxy's copies.
	ClientCA string `json:"clientCA"`
	Serving  string `json:"serving"`
	// LoopbackClients is the setting for clients on the node.
	LoopbackClients LoopbackClients `json:"loopbackClients"`
	// LoopbackFrom is the origin of this setting.
	LoopbackFrom LoopbackSource `json:"loopbackClientsFrom"`
}

func (p *plan) writeRecord(context.Context) (bool, error) {
	data, err := json.MarshalIndent(Record{
		Version: p.Version, Certificates: p.Certificates, ClientCA: p.setup.clientCA, Serving: p.setup.serving,
		LoopbackClients: p.LoopbackClients, LoopbackFrom: p.loopbackFrom,
	}, "", "  ")
	if err != nil {
		return false, err
	}
	return p.journal.WriteFile(p.Layout.NodeRecord(), atomicfile.Private(append(data, '\n')))
}

// ReadRecord returns the record of `bulkhead node install` on this host, or nil if there is none.
// An older version recorded no LoopbackClients, and denied them. Another one recorded no LoopbackFrom,
// and allowed them only by the flag.
func ReadRecord(l host.Layout) (*Record, error) {
	data, err := os.ReadFile(l.NodeRecord())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Record{LoopbackClients: LoopbackDeny}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", l.NodeRecord(), err)
	}
	if r.LoopbackFrom == "" {
		r.LoopbackFrom = FromCluster
		if r.LoopbackClients == LoopbackAllow {
			r.LoopbackFrom = FromFlag
		}
	}
	return r, nil
}
