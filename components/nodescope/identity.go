// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	accountNamed = rules.Rule{
		ID: "NS-IDENT-1",
		Description: "Every request of a user is denied if the user name begins like that of a ServiceAccount but " +
			"has no namespace or no name.",
		Source:    "k8s.io/apiserver/pkg/authentication/serviceaccount SplitUsername",
		Extension: true,
	}
	podClaimed = rules.Rule{
		ID: "NS-IDENT-2",
		Description: "For a resource in its scope, an account's token without a pod is denied: a token from a " +
			"secret, or one requested without a pod. A token whose pod claims are incomplete, repeated or empty " +
			"is denied on everything that a scope can contain.",
		Source:    seed + "; KEP-4193; KEP-1205",
		Extension: true,
	}
	podCurrent = rules.Rule{
		ID: "NS-IDENT-3",
		Description: "The pod of a token exists, with the same name and UID, and runs as the account. Otherwise " +
			"the token is denied on everything that a scope can contain, because the scope of a deleted or " +
			"replaced pod is unknown.",
		Source:    seed + ", NodeInfo; KEP-1205",
		Extension: true,
	}
	nodeAgrees = rules.Rule{
		ID: "NS-IDENT-4",
		Description: "For a resource in its scope, a token is valid only on the node that its pod is bound to, " +
			"and only if the token names that node too.",
		Source:    seed + "; KEP-4193",
		Extension: true,
	}
)

// identity is what is known about a user.
type identity struct {
	isAccount       bool
	namespace, name string
	claims          claims
	// node is the node of the pod. It is empty if against is set.
	node string
	// scopes is the scope that applies to the user.
	scopes scopes
	// audits is true if the account is in audit mode: denials are reported but not enforced.
	audits     bool
	exemptions *Exemptions
	// against is the rule that denies the user every resource in its scope. It is empty if the
	// user's node is known. why is the message of the denial.
	against rules.ID
	why     string
}

// identify looks the user up.
func identify(u user.Info, info NodeInfo) identity {
	namespace, name, isAccount, wellFormed := accountOf(u.GetName())
	who := identity{isAccount: isAccount, namespace: namespace, name: name}
	if !isAccount {
		return who
	}
	if !wellFormed {
		return who.refusedAll(accountNamed, "the user name has no namespace and name of an account")
	}
	account, known := info.Account(namespace, name)
	if !known {
		return who.refusedAll(unready, "the scope of the account is not known")
	}
	who.scopes[0], who.exemptions, who.audits = account.Scope, account.Exemptions, account.Audits
	who.claims = readClaims(u.GetExtra())
	switch who.claims.state {
	case ofPod:
		return who.inPod(info)
	case noPod:
		who.scopes[1] = account.OfPods
		return who.deniedScoped(podClaimed, "the token names no pod")
	default:
		return who.refusedAll(podClaimed, "the token's claims of its pod are incomplete")
	}
}

// inPod looks up the pod of the token.
func (who identity) inPod(info NodeInfo) identity {
	pod, known := info.Pod(who.namespace, who.claims.podName)
	switch {
	case !known:
		return who.refusedAll(podCurrent, "the pod of the token is not there")
	case string(pod.UID) != who.claims.podUID:
		return who.refusedAll(podCurrent, "the pod of that name is not the one that the token was made for")
	case pod.RunsAs != who.name:
		return who.refusedAll(podCurrent, "the pod of the token does not run as the account")
	}
	who.scopes[1] = pod.Scope
	switch {
	case pod.NodeName == "":
		return who.deniedScoped(nodeAgrees, "the pod of the token is bound to no node")
	case who.claims.nodeName == "":
		return who.deniedScoped(nodeAgrees, "the token names no node")
	case who.claims.nodeName != pod.NodeName:
		return who.deniedScoped(nodeAgrees, "the token names another node than the one that its pod is on")
	}
	who.node = pod.NodeName
	return who
}

func (who identity) deniedScoped(r rules.Rule, why string) identity {
	who.against, who.why = r.ID, why
	return who
}

// denied returns the denial by the rule in against.
func (who identity) denied() rules.Decision {
	return rules.Decision{Rule: who.against, Message: who.why}
}

// refusedAll is for a user whose scope is not known. Every resource that a scope can contain is
// then in its scope.
func (who identity) refusedAll(r rules.Rule, why string) identity {
	who.against, who.why, who.scopes = r.ID, why, scopes{everything}
	return who
}

var everything = Everything()

// Identity is what is known about a user. Authorization and admission both use it, so they
// agree. The zero value is a user without a scope.
type Identity struct{ known identity }

// Identify looks the user up once.
func Identify(u user.Info, info NodeInfo) Identity {
	if u == nil {
		return Identity{}
	}
	return Identity{identify(u, info)}
}

// IsBound reports whether the user has a scope that is not empty.
func (i Identity) IsBound() bool { return !i.known.scopes.isEmpty() }

// Covers reports whether the user is limited to its node on the resource.
func (i Identity) Covers(r Resource) bool { return i.known.scopes.covers(r) }

// Node returns the node of the user's pod. It is empty if [Identity.Against] returns a rule:
// then the user has no access to resources in its scope.
func (i Identity) Node() string { return i.known.node }

// Against returns the rule that denies the user every resource in its scope, and the message of
// the denial. The last result is false if there is no such rule: the user's node is known, or
// the user is not a ServiceAccount.
func (i Identity) Against() (by rules.ID, why string, is bool) {
	return i.known.against, i.known.why, i.known.against != ""
}

// Lifts reports whether an exemption of the account disables a rule on the user's own node.
func (i Identity) Lifts(rule rules.ID) bool { return i.known.exemptions.Lifts(rule) }

// Audits reports whether the account is in audit mode: denials are reported but not enforced.
func (i Identity) Audits() bool { return i.known.audits }
