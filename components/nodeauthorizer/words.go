// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"hash/maphash"
	"sync/atomic"
)

// maxRules is more than the rules that there are.
const maxRules = 128

// words are a text of upstream's or ours that is always the same. The reason that
// is made of it is made once for each rule, so that to refuse by it does not
// allocate.
type words struct {
	text    string
	reasons [maxRules]atomic.Pointer[string]
}

func say(text string) *words { return &words{text: text} }

// by is the reason that ends in the ID of the rule.
func (w *words) by(r *rule) string {
	if made := w.reasons[r.number].Load(); made != nil {
		return *made
	}
	reason := w.text + r.end
	w.reasons[r.number].Store(&reason)
	return reason
}

const (
	// nodeReasonsKept is how many reasons that name a node are kept. A cluster has
	// fewer nodes than that which are refused something at about the same time.
	nodeReasonsKept = 4096
	// maxNodeName is the most that the name of a Node may have. No longer one is
	// kept: whoever may ask about others could fill the memory with it.
	//
	// Source: k8s.io/apimachinery/pkg/util/validation IsDNS1123Subdomain.
	maxNodeName = 253
)

// nodeReasons keeps the reasons with upstream's texts that name a node and nothing else
// of a request, of which most refusals have one. Each takes the place of another. It is
// safe for concurrent use.
type nodeReasons struct {
	seed maphash.Seed
	kept [nodeReasonsKept]atomic.Pointer[nodeReason]
}

type nodeReason struct {
	node, reason string
	rule         *rule
	wording      wording
}

func newNodeReasons() *nodeReasons { return &nodeReasons{seed: maphash.MakeSeed()} }

// of is the one for this node, rule and wording.
func (k *nodeReasons) of(node string, r *rule, w wording) string {
	if len(node) > maxNodeName {
		return makeNodeReason(node, r, w).reason
	}
	place := &k.kept[(maphash.String(k.seed, node)+r.number)%nodeReasonsKept]
	if made := place.Load(); made != nil && made.rule == r && made.wording == w && made.node == node {
		return made.reason
	}
	made := makeNodeReason(node, r, w)
	place.Store(made)
	return made.reason
}

func makeNodeReason(node string, r *rule, w wording) *nodeReason {
	made := &nodeReason{node: node, rule: r, wording: w}
	if w == allNodes {
		made.reason = cannotReadAll(node, r.end)
	} else {
		made.reason = noRelationship(node, r.end)
	}
	return made
}
