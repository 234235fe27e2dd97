// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// Policy has the user's settings for node-restriction's configuration file.
type Policy struct {
	// Own is true if the user has chosen the file. The file of the profile does not replace it.
	Own bool
	// File is the content that the user gave in this run. If it is nil, the current file stays.
	File []byte
	// Reset restores the file of the profile, whatever the current content is.
	Reset bool
}

// PolicyRecord records the file for the next run.
type PolicyRecord struct {
	Own bool `json:"own,omitempty"`
	// Written is the SHA-256 of the content that Bulkhead wrote. If the file has other content, a
	// user has edited it in place.
	Written string `json:"written,omitempty"`
}

// In describes in one line the file that applies with the profile.
func (r PolicyRecord) In(l host.Layout, p Profile) string {
	switch {
	case r.Own:
		return l.RestrictionPolicy() + " (chosen for this host)"
	case p == Parity:
		return "none: as in-tree NodeRestriction"
	}
	return l.RestrictionPolicy()
}

// Validate checks File as node-restriction does.
func (p Policy) Validate() error {
	if p.File == nil {
		return nil
	}
	if _, err := configuration.Parse(p.File); err != nil {
		return fmt.Errorf("--node-restriction-config: %w", err)
	}
	return nil
}

// MirrorPodPolicy returns the configuration of node-restriction after an installation with these
// options on this host. It is nil if there is none. opened are the annotations that the
// installation sets on kube-system.
func MirrorPodPolicy(l host.Layout, o Options) (policy *configuration.Configuration, opened map[string]string,
	err error) {
	before, err := ReadRecord(l)
	if err != nil {
		return nil, nil, err
	}
	choice, err := choosePolicy(l, o, before)
	if err != nil || choice.data == nil {
		return nil, nil, err
	}
	if policy, err = configuration.Parse(choice.data); err != nil {
		return nil, nil, err
	}
	opened, err = mirrorAnnotations()
	return policy, opened, err
}

// policyChoice is the decision about node-restriction's file.
type policyChoice struct {
	// data is the content that node-restriction will read. It is nil if it reads no file.
	data []byte
	// there is true if the file on disk already has this content. edited is true if a user has
	// edited it without the installer.
	there, edited bool
}

// choosePolicy decides which file node-restriction reads. It uses the options of this run and the
// record of the last installation.
func choosePolicy(l host.Layout, o Options, before *Record) (policyChoice, error) {
	if o.Policy.File != nil {
		return policyChoice{data: o.Policy.File}, nil
	}
	if o.Profile == Parity && !o.Policy.Own {
		return policyChoice{}, nil
	}
	have, exists, err := atomicfile.Read(l.RestrictionPolicy())
	if err != nil {
		return policyChoice{}, fmt.Errorf("reading node-restriction's configuration: %w", err)
	}
	written := ""
	if before != nil {
		written = before.Policy.Written
	}
	switch {
	case o.Policy.Own && !exists:
		return policyChoice{},
			fmt.Errorf("%s, which was chosen for this host, is gone: give it again with --node-restriction-config, or go back "+
				"to the profile's with --node-restriction-config=", l.RestrictionPolicy())
	case o.Policy.Own, exists && !o.Policy.Reset && journal.Hash(have.Data) != written:
		// A running process keeps its last valid configuration. A new process would not start.
		if _, err := configuration.Parse(have.Data); err != nil {
			return policyChoice{}, fmt.Errorf("%s, which is kept, is invalid: %w", l.RestrictionPolicy(), err)
		}
		return policyChoice{data: have.Data, there: true, edited: !o.Policy.Own}, nil
	}
	data, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	return policyChoice{data: data}, err
}

// planPolicy plans to write the file, or to keep the current one. used is true if node-restriction
// reads it.
func (p *plan) planPolicy() (used bool, err error) {
	choice, err := choosePolicy(p.Layout, p.Options, p.before)
	if err != nil {
		return false, err
	}
	p.record.Policy = PolicyRecord{Own: p.Policy.Own}
	if p.before != nil {
		p.record.Policy.Written = p.before.Policy.Written
	}
	p.policyKept = choice.edited
	if choice.data != nil && !choice.there {
		p.policy, p.record.Policy.Written = choice.data, journal.Hash(choice.data)
	}
	return choice.data != nil, nil
}
