// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kubernetes/pkg/auth/nodeidentifier"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/subjects"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// comparison is one write with both answers.
type comparison struct {
	cluster            *generator.Cluster
	write              *generator.Write
	asked              subjects.Asked
	upstream, bulkhead subjects.Answer
}

// sharedRules are the rules that upstream has too. All other rules are off in this test.
var sharedRules = func() map[rules.ID]bool {
	ids := map[rules.ID]bool{}
	for _, r := range noderestriction.Rules {
		if !r.Extension {
			ids[r.ID] = true
		}
	}
	return ids
}()

// compare asks both subjects. It returns a description of a difference that is not a known one, or
// "".
func compare(p *subjects.Pair, cluster *generator.Cluster, write *generator.Write, counts harness.Counts) string {
	asked, err := subjects.Ask(write, cluster.APIAudiences)
	if err != nil {
		counts["not converted"]++
		return ""
	}
	c := &comparison{cluster: cluster, write: write, asked: asked}
	c.upstream, c.bulkhead = p.Upstream(
		context.Background(),
		asked.Upstream,
	), p.Bulkhead(
		context.Background(),
		asked.Bulkhead,
	)
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
	c.count(counts)
	return ""
}

// malformed returns what is wrong with Bulkhead's answer, whatever upstream answers, or "".
func (c *comparison) malformed() string {
	switch {
	case c.bulkhead.Admitted():
		return ""
	case !sharedRules[c.bulkhead.Rule]:
		return "Bulkhead refuses by a rule that upstream does not have, or by none"
	case !strings.HasSuffix(c.bulkhead.Message, c.id()):
		return "the text of Bulkhead does not end in its rule"
	}
	return ""
}

// disagreement returns how Bulkhead's answer differs from the expected one, apart from the rule, or
// "".
func (c *comparison) disagreement(want subjects.Answer) string {
	switch {
	case c.bulkhead.Admitted() != want.Admitted():
		return "one subject admits"
	case c.bulkhead.Code != want.Code:
		return "the codes differ"
	case c.bulkhead.Reason != want.Reason:
		return "the reasons differ"
	case c.message() != want.Message:
		return "the messages differ"
	}
	return ""
}

func (c *comparison) id() string { return " [" + string(c.bulkhead.Rule) + "]" }

// message returns Bulkhead's message without the rule.
func (c *comparison) message() string { return strings.TrimSuffix(c.bulkhead.Message, c.id()) }

func (c *comparison) describe(wrong string) string {
	return fmt.Sprintf("%s\n\tupstream: %v\n\tBulkhead: %v", wrong, c.upstream, c.bulkhead)
}

// count counts the outcome of a write.
func (c *comparison) count(n harness.Counts) {
	if !c.bulkhead.Admitted() {
		n["refused: "+string(c.bulkhead.Rule)]++
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

// everyDay are the usual writes of kubelets.
var everyDay = []string{
	"CREATE pods",
	"DELETE pods",
	"UPDATE pods/status",
	"CREATE pods/eviction",
	"CREATE nodes",
	"UPDATE nodes",
	"UPDATE nodes/status",
	"UPDATE persistentvolumeclaims/status",
	"CREATE serviceaccounts/token",
	"CREATE podcertificaterequests",
	"CREATE leases",
	"UPDATE leases",
	"DELETE leases",
	"CREATE csinodes",
	"UPDATE csinodes",
	"DELETE csinodes",
	"UPDATE csinodes/status",
	"CREATE resourceslices",
	"UPDATE resourceslices",
	"DELETE resourceslices",
	"CREATE certificatesigningrequests",
	"CREATE events",
	"UPDATE events",
}
