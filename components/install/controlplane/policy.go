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

// Policy is what a person has decided about node-restriction's file.
type Policy struct {
	// Own is true if a person has chosen the file; the profile's is not put in its
	// place.
	Own bool
	// File is its content where it was given now. Without it, what is there stays.
	File []byte
	// Reset puts the profile's file back, whatever is there.
	Reset bool
}

// PolicyRecord is what the next run has to know about it.
type PolicyRecord struct {
	Own bool `json:"own,omitempty"`
	// Written is the SHA-256 of what we wrote. Anything else there now is the work
	// of a person who edits it in place.
	Written string `json:"written,omitempty"`
}

// In says in one line what the profile makes of it.
func (r PolicyRecord) In(l host.Layout, p Profile) string {
	switch {
	case r.Own:
		return l.RestrictionPolicy() + " (chosen for this host)"
	case p == Parity:
		return "none: as in-tree NodeRestriction"
	}
	return l.RestrictionPolicy()
}

// Validate reads a file that was given as node-restriction reads it.
func (p Policy) Validate() error {
	if p.File == nil {
		return nil
	}
	if _, err := configuration.Parse(p.File); err != nil {
		return fmt.Errorf("--node-restriction-config: %w", err)
	}
	return nil
}

// MirrorPodPolicy is what an installation with these options tells node-restriction on
// this host, whatever it has been told before; nil for nothing. opened are the
// annotations that the installation gives kube-system.
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

// policyChoice is what becomes of node-restriction's file.
type policyChoice struct {
	// data is what node-restriction will read; nil if it reads nothing.
	data []byte
	// there is true if that is in place already, and edited if by the hand of a person
	// who has not told the installer.
	there, edited bool
}

// choosePolicy decides which file node-restriction reads, from what a person says now
// and what the last installation has recorded.
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
		// A process that runs keeps the last good one. A new one would not start.
		if _, err := configuration.Parse(have.Data); err != nil {
			return policyChoice{}, fmt.Errorf("%s, which is kept, is no good: %w", l.RestrictionPolicy(), err)
		}
		return policyChoice{data: have.Data, there: true, edited: !o.Policy.Own}, nil
	}
	data, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	return policyChoice{data: data}, err
}

// planPolicy has the plan write the file, or leave what is there; used is whether
// node-restriction reads it.
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
