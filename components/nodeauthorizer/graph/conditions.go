// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Condition is why a relation is weaker than it is upstream.
type Condition uint8

// The conditions. Each belongs to one optional rule.
const (
	// Unconditional: no condition applies to the relation.
	Unconditional Condition = iota
	// Ended: the object is related only through pods that have ended (NA-POD-6).
	Ended
	// Unusable: no pod can use the account or its tokens (NA-SA-3).
	Unusable
	// Unowned: the pod does not own the claim of its ephemeral volume (NA-PVC-3).
	Unowned
)

var conditionNames = [...]string{Unconditional: "unconditional", Ended: "ended", Unusable: "unusable",
	Unowned: "unowned"}

// String returns the condition's name in lower case.
func (c Condition) String() string {
	if int(c) >= len(conditionNames) {
		return "unknown"
	}
	return conditionNames[c]
}

// Options are the mode of each condition. The zero value decides as upstream does.
type Options struct {
	// Ended, Unusable and Unowned are the modes of NA-POD-6, NA-SA-3 and NA-PVC-3.
	Ended, Unusable, Unowned rules.Mode
	// CredentialProviders is true if kubelets have credential providers that use ServiceAccount
	// tokens. Then every pod can use its account and the account's tokens.
	CredentialProviders bool
}

// edgeFlags describe a path from an object to a node. An object is stored once for each set of
// flags under which a pod or volume refers to it. Each of these copies counts its own nodes. So
// flags take no memory in the references, and a conditional relation is removed as exactly as any
// other.
type edgeFlags uint8

// The search tries the flag sets in numeric order, so common flags come first.
const (
	// owned: the claim of an ephemeral volume. The pod that refers to it is its controller.
	owned edgeFlags = 1 << iota
	// unowned: the claim of an ephemeral volume that is not known to belong to the pod, and the
	// secrets of the volumes that are bound to it.
	unowned
	// unreadable: the pod does not need to read the object of its account.
	unreadable
	// tokenless: the pod does not need tokens of its account.
	tokenless
	// ended: the pod has ended. The secrets of a volume get this flag from the claim.
	ended

	flagSets = 1 << iota
)

// endable are the kinds to which a pod that has ended refers under a condition. Its volumes must
// stay readable, so that the kubelet can unmount them. A claim gets the flag only to pass it on to
// the secrets of its volumes.
var endable = [kindCount]bool{Secret: true, ConfigMap: true, ServiceAccount: true, PersistentVolumeClaim: true}

// handedOn returns the flags of a claim that also apply to the secrets of its volumes.
func (m edgeFlags) handedOn() edgeFlags { return m & (unowned | ended) }

// kept is the set of flags that can change an answer.
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

// judgement is the relation that a path gives, for each kind and each set of flags.
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

// judge applies enforced conditions before audited ones. So an audited rule never allows what
// another, enforced rule refuses.
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

// weighty are the flags that can change an answer about a kind.
var weighty = [kindCount]edgeFlags{
	Secret:                ended | unowned,
	ConfigMap:             ended,
	PersistentVolumeClaim: unowned,
	PersistentVolume:      unowned,
	ServiceAccount:        ended | unreadable,
	ServiceAccountToken:   ended | tokenless,
}
