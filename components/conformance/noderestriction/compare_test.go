// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kubernetes/pkg/auth/nodeidentifier"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// comparison is one write and what came of it on both sides.
type comparison struct {
	world          *world.World
	write          *world.Write
	asked          sides.Asked
	upstream, ours sides.Answer
}

// sharedRules are those that upstream has as well; the others are off here.
var sharedRules = func() map[rules.ID]bool {
	ids := map[rules.ID]bool{}
	for _, r := range noderestriction.Rules {
		if !r.Extension {
			ids[r.ID] = true
		}
	}
	return ids
}()

// compare asks both sides and returns what is wrong: the empty string, or a
// description of a disagreement that is not a known one.
func compare(p *sides.Pair, w *world.World, write *world.Write, counts counts) string {
	asked, err := sides.Ask(write, w.APIAudiences)
	if err != nil {
		counts["not converted"]++
		return ""
	}
	c := &comparison{world: w, write: write, asked: asked}
	c.upstream, c.ours = p.Upstream(context.Background(), asked.Upstream), p.Ours(context.Background(), asked.Ours)
	if wrong := c.malformed(); wrong != "" {
		return c.describe(wrong)
	}
	if wrong := c.disagreement(c.upstream); wrong != "" {
		expected, known := explain(p, c)
		if c.disagreement(expected) != "" {
			return c.describe(wrong)
		}
		for _, name := range known {
			counts["known: "+name]++
		}
	}
	counts.add(c)
	return ""
}

// malformed says what is wrong with ours whatever upstream answers.
func (c *comparison) malformed() string {
	switch {
	case c.ours.Admitted():
		return ""
	case !sharedRules[c.ours.Rule]:
		return "ours refuses by a rule that upstream does not have, or by none"
	case !strings.HasSuffix(c.ours.Message, c.id()):
		return "ours does not end in its rule"
	}
	return ""
}

// disagreement says how ours differs from what it should be, apart from the rule.
func (c *comparison) disagreement(want sides.Answer) string {
	switch {
	case c.ours.Admitted() != want.Admitted():
		return "one side admits"
	case c.ours.Code != want.Code:
		return "the codes differ"
	case c.ours.Reason != want.Reason:
		return "the reasons differ"
	case c.message() != want.Message:
		return "the messages differ"
	}
	return ""
}

func (c *comparison) id() string { return " [" + string(c.ours.Rule) + "]" }

// message is ours without the rule.
func (c *comparison) message() string { return strings.TrimSuffix(c.ours.Message, c.id()) }

func (c *comparison) describe(wrong string) string {
	return fmt.Sprintf("%s\n\tupstream: %v\n\tours: %v", wrong, c.upstream, c.ours)
}

// counts says how often things happened.
type counts map[string]int

func (n counts) add(c *comparison) {
	if !c.ours.Admitted() {
		n["refused: "+string(c.ours.Rule)]++
		return
	}
	target := c.write.Resource.Resource
	if c.write.Subresource != "" {
		target += "/" + c.write.Subresource
	}
	what := fmt.Sprintf("%s %s", c.write.Operation, target)
	switch node, isNode := identifier.NodeIdentity(c.write.User); {
	case !isNode || node == "":
		what = "what is no node's"
	case !slices.Contains(everyDay, what):
		what = "anything else"
	}
	n["admitted: "+what]++
}

var identifier = nodeidentifier.NewDefaultNodeIdentifier()

// everyDay is what kubelets write.
var everyDay = []string{
	"CREATE pods", "DELETE pods", "UPDATE pods/status", "CREATE pods/eviction", "CREATE nodes", "UPDATE nodes", "UPDATE nodes/status",
	"UPDATE persistentvolumeclaims/status", "CREATE serviceaccounts/token", "CREATE podcertificaterequests",
	"CREATE leases", "UPDATE leases", "DELETE leases", "CREATE csinodes", "UPDATE csinodes", "DELETE csinodes", "UPDATE csinodes/status",
	"CREATE resourceslices", "UPDATE resourceslices", "DELETE resourceslices", "CREATE certificatesigningrequests",
	"CREATE events", "UPDATE events",
}

func (n counts) merge(other counts) {
	for name, count := range other {
		n[name] += count
	}
}
