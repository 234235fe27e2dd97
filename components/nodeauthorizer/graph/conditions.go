// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Condition says why a relation is weaker than upstream would have it.
type Condition uint8

// The conditions. Each belongs to one optional rule.
const (
	// Unconditional: nothing is held against the relation.
	Unconditional Condition = iota
	// Ended: only pods that have ended lead to the object (NA-POD-6).
	Ended
	// Unusable: no pod can make use of the account or of its tokens (NA-SA-3).
	Unusable
	// Unowned: the claim of a pod's ephemeral volume is not that pod's (NA-PVC-3).
	Unowned
)

var conditionNames = [...]string{Unconditional: "unconditional", Ended: "ended", Unusable: "unusable",
	Unowned: "unowned"}

// String is the condition's name in lower case.
func (c Condition) String() string {
	if int(c) >= len(conditionNames) {
		return "unknown"
	}
	return conditionNames[c]
}

// Options says what is done about each condition. The zero value answers as
// upstream does.
type Options struct {
	// Ended, Unusable and Unowned are the modes of NA-POD-6, NA-SA-3 and NA-PVC-3.
	Ended, Unusable, Unowned rules.Mode
	// CredentialProviders is true where kubelets have credential providers that use
	// ServiceAccount tokens: then every pod can make use of its account and of its
	// tokens.
	CredentialProviders bool
}

// edgeFlags are what is to be known about the way from a node to an object beyond
// that it exists. An object is stored once for each set of flags that something
// names it with, and counts its nodes for each of them on its own: so the flags
// cost no room, and a relation under a condition is taken back as exactly as any
// other.
type edgeFlags uint8

// The order is the order of search: what is common comes first.
const (
	// owned: the claim of an ephemeral volume, controlled by the pod that names it.
	owned edgeFlags = 1 << iota
	// unowned: the claim of an ephemeral volume that is not known to be the pod's,
	// and the secrets of the volumes that are bound to it.
	unowned
	// unreadable: an account whose object the pod has no use for.
	unreadable
	// tokenless: an account whose tokens the pod has no use for.
	tokenless
	// ended: the pod has ended. Secrets of volumes have it from their claim.
	ended

	flagSets = 1 << iota
)

// endable are the kinds that a pod which has ended leads to under a condition. Its
// volumes must stay readable to be unmounted; the mark on a claim is for the
// secrets behind it.
var endable = [kindCount]bool{Secret: true, ConfigMap: true, ServiceAccount: true, PersistentVolumeClaim: true}

// handedOn is what the secrets of a claim's volumes get of the claim's flags.
func (m edgeFlags) handedOn() edgeFlags { return m & (unowned | ended) }

// kept is the set of flags that any answer depends on.
func (o Options) kept() edgeFlags {
	var kept edgeFlags
	if o.Ended != rules.Off {
		kept |= ended
	}
	if o.Unowned != rules.Off {
		kept |= owned | unowned
	}
	if o.Unusable != rules.Off && !o.CredentialProviders {
		kept |= unreadable | tokenless
	}
	return kept
}

// judgement holds, for each kind that is asked about and each set of flags, what
// a way with these flags amounts to.
type judgement [kindCount][flagSets]Relation

func newJudgement(o Options) *judgement {
	all := &judgement{}
	for kind := range all {
		for set := range all[kind] {
			all[kind][set] = o.judge(Kind(kind), edgeFlags(set))
		}
	}
	return all
}

// judge lets what is enforced speak before what is audited, so that an audit of
// one rule never opens what another one closes.
func (o Options) judge(kind Kind, set edgeFlags) Relation {
	verdict := Relation{Related: true}
	for _, against := range []struct {
		mark      edgeFlags
		condition Condition
		mode      rules.Mode
	}{
		{ended & weighty[kind], Ended, o.Ended},
		{(unreadable | tokenless) & weighty[kind], Unusable, o.Unusable},
		{unowned & weighty[kind], Unowned, o.Unowned},
	} {
		switch {
		case set&against.mark == 0 || against.mode == rules.Off:
		case against.mode == rules.Enforce:
			return Relation{Condition: against.condition}
		case verdict.Condition == Unconditional:
			verdict.Condition = against.condition
		}
	}
	return verdict
}

// weighty are the flags that matter to an answer about a kind.
var weighty = [kindCount]edgeFlags{
	Secret:                ended | unowned,
	ConfigMap:             ended,
	PersistentVolumeClaim: unowned,
	PersistentVolume:      unowned,
	ServiceAccount:        ended | unreadable,
	ServiceAccountToken:   ended | tokenless,
}
