// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	inTreeNode        = "Kubernetes' own Node authorizer"
	inTreeRestriction = "Kubernetes' own NodeRestriction plugin"
	likeThisRule      = ", which decides like this rule"
	noAuthorizer      = "no authorizer allows it"
)

// decider is who decided, and by which rules of Bulkhead.
type decider struct {
	by    string
	rules []rules.ID
	// left are those of the rules by which an authorizer left the request to the next ones.
	left []rules.ID
	// byRBAC is true if a role would have been enough, or was.
	byRBAC bool
	// text is the text of the rule, if the reason does not have it.
	text string
}

// fromGraph reports whether node-authorizer decided, by its rules for nodes or for scoped pods.
func (d decider) fromGraph() bool {
	return len(d.rules) > 0 && !strings.HasPrefix(d.by, inTreeNode) && !strings.HasPrefix(d.by, noAuthorizer)
}

// componentOf returns the component that has the rule.
func componentOf(id rules.ID) string {
	switch {
	case id == kubeletauth.RuleVAP:
		return "Bulkhead's ValidatingAdmissionPolicy for nodes/proxy"
	case id == kubeletauth.RuleCSR:
		return "Bulkhead's kubelet-csr-approver"
	case strings.HasPrefix(string(id), "NA-"):
		return "Bulkhead's node-authorizer"
	case strings.HasPrefix(string(id), "NR-"):
		return "Bulkhead's node-restriction"
	case strings.HasPrefix(string(id), "NS-"):
		return "Bulkhead's node scope"
	}
	return "Bulkhead's kubelet-auth-proxy"
}

// decisive returns the rule that decided. Node scope also names the rule that it applies to the node.
func decisive(ids []rules.ID) rules.ID {
	if i := slices.IndexFunc(ids, ofScope); i >= 0 {
		return ids[i]
	}
	return ids[0]
}

func ofScope(id rules.ID) bool { return strings.HasPrefix(string(id), "NS-") }

// leftToNext ends the reason of an authorizer that leaves a request of a node to the next ones.
const leftToNext = "left to the next authorizers"

// abstaining returns the rules by which an authorizer left the request to the next ones. Such a rule
// has no text in the reason, or a known one. The same rule with another text has denied the request. Of
// the rules for nodes, only NA-PASS and NA-UNREADY abstain. Every rule of node scope can, and NS-PASS
// always does.
func abstaining(ids []rules.ID, reason string) []rules.ID {
	var left []rules.ID
	for _, id := range ids {
		cited := "[" + string(id) + "]"
		always := id == "NA-UNREADY" || strings.HasPrefix(string(id), "NS-PASS-")
		passed := strings.HasPrefix(string(id), "NA-PASS-")
		if always || (passed || ofScope(id)) && hasNoText(reason, cited) ||
			passed && strings.Contains(onOneLine(reason), leftToNext+" "+cited) {
			left = append(left, id)
		}
	}
	return left
}

// hasNoText reports whether the rule is the whole reason of an authorizer. A terminal may have wrapped a
// text before its rule, so the previous line must be another reason that ends in a rule. A denial by
// node scope ends in the node's rule and its own.
func hasNoText(reason, cited string) bool {
	before := ""
	for line := range strings.Lines(reason) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line == cited && (before == "" || strings.HasSuffix(before, "]") && !endsInNodeRule.MatchString(before)) {
			return true
		}
		before = line
	}
	return false
}

var endsInNodeRule = regexp.MustCompile(`\[NA-[A-Z0-9-]+\]$`)

// allowedBy returns which authorizer allowed the request. Only RBAC and Bulkhead give a reason.
func allowedBy(r *Request, reason string) decider {
	if ids := namedRules(reason); len(ids) > 0 {
		return decider{by: componentOf(ids[0]), rules: ids}
	}
	_, isNode := r.node()
	switch {
	case strings.HasPrefix(reason, "RBAC: "):
		return decider{by: "RBAC", byRBAC: true}
	case reason != "":
		return decider{by: "another authorizer"}
	case slices.Contains(r.Groups, user.SystemPrivilegedGroup):
		return decider{by: "the group " + user.SystemPrivilegedGroup + ", which may do everything"}
	case isNode:
		return decider{by: inTreeNode}
	}
	return decider{by: "an authorizer that gives no reason"}
}

// deniedBy returns which authorizer denied the request. reason has the texts of all authorizers that
// did not allow it, one on each line. final is true if one of them denied it, so that the next ones
// were not asked.
func deniedBy(r *Request, reason string, final bool) decider {
	ids := namedRules(reason)
	left := abstaining(ids, reason)
	deciding := slices.DeleteFunc(slices.Clone(ids), func(id rules.ID) bool { return slices.Contains(left, id) })
	if len(deciding) > 0 && final {
		return decider{by: componentOf(decisive(deciding)), rules: ids, left: left}
	}
	if len(deciding) > 0 {
		return decider{by: componentOf(decisive(deciding)) + " by this rule, and no later authorizer allows it", rules: ids,
			left: left}
	}
	if id, said := inTreeRule(r, reason); id != "" {
		by := noAuthorizer + ": " + inTreeNode + " has no rule for it, like this rule, and RBAC has no role"
		if said {
			by = inTreeNode + likeThisRule + ", and RBAC has no role"
		}
		return decider{by: by, rules: append(ids, id), left: left}
	}
	if final {
		return decider{by: "another authorizer"}
	}
	if id, text := ruleFor(r); id != "" {
		return decider{by: noAuthorizer + ": the reason names no rule; this is the rule for the request",
			rules: append(ids, id), left: left, text: text}
	}
	return decider{by: noAuthorizer, rules: ids, left: left, byRBAC: true}
}

// ruleFor returns the rule that decides about a node's request if no object is related to the node,
// and its text.
func ruleFor(r *Request) (rules.ID, string) {
	if r == nil {
		return "", ""
	}
	if _, isNode := r.node(); !isNode {
		return "", ""
	}
	if d := withoutObjects[0].Decide(context.Background(), r.attributes()); d.Effect == rules.Deny {
		return d.Rule, d.Message
	}
	return "", ""
}

// withoutObjects decide as the in-tree Node authorizer does about objects that are not related to the
// node: with the feature gates of Kubernetes 1.37, with all of them, and with none.
var withoutObjects = []*nodeauthorizer.Authorizer{inTreeWith(nodeauthorizer.DefaultFeatures()),
	inTreeWith(allFeatures()), inTreeWith(nodeauthorizer.Features{})}

func inTreeWith(features nodeauthorizer.Features) *nodeauthorizer.Authorizer {
	return nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Strict, Features: features, Modes: nodeauthorizer.Modes(rules.Off),
		Unready: func() string { return "" },
	})
}

func allFeatures() nodeauthorizer.Features {
	var features nodeauthorizer.Features
	for _, on := range features.ByGate() {
		*on = true
	}
	return features
}

// inTreeRule returns the rule that decides like the in-tree Node authorizer. said is true if reason has
// its text. Without a text, the in-tree authorizer has no rule for the request. It returns no rule for
// the text of another authorizer.
func inTreeRule(r *Request, reason string) (id rules.ID, said bool) {
	if r == nil {
		return "", false
	}
	if _, isNode := r.node(); !isNode {
		return "", false
	}
	for _, authorizer := range withoutObjects {
		d := authorizer.Decide(context.Background(), r.attributes())
		if d.Effect != rules.Deny {
			continue
		}
		if hasLine(reason, d.Message) {
			return d.Rule, true
		}
		if id == "" && strings.HasPrefix(d.Message, "no rule allows ") {
			id = d.Rule
		}
	}
	return id, false
}

// hasLine reports whether one line of the text is the message, or the whole text. A terminal may have
// wrapped it.
func hasLine(text, message string) bool {
	if message != "" && onOneLine(text) == message {
		return true
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line == message {
			return true
		}
	}
	return false
}

// ownWebhook is the beginning of a message of node-restriction or of node scope.
var ownWebhook = regexp.MustCompile(`^admission webhook "[^"]+\.bulkhead\.dev" denied the request: `)

// otherAdmission are steps of admission that are not Bulkhead's, by their texts.
var otherAdmission = []struct {
	text *regexp.Regexp
	by   string
}{
	{ownWebhook, "Bulkhead's webhook. The text has no rule ID: give the whole message"},
	{regexp.MustCompile(`admission webhook "[^"]+" denied the request`), "another admission webhook"},
	{regexp.MustCompile(`ValidatingAdmissionPolicy '[^']+' with binding '[^']+' denied request`),
		"another ValidatingAdmissionPolicy"},
	{regexp.MustCompile(`violates PodSecurity "`), "Pod Security admission"},
	{regexp.MustCompile(`exceeded quota: `), "ResourceQuota admission"},
	{regexp.MustCompile(`failed calling webhook "[^"]+\.bulkhead\.dev"`),
		"kube-apiserver: it cannot reach Bulkhead's webhook"},
}

// admittedNotBy returns which step of admission wrote the message. It returns false if the text shows
// none.
func admittedNotBy(message string) (decider, bool) {
	// Users choose the names of objects. An ID in a name does not say which rule decided.
	if ids := namedRules(named.ReplaceAllString(message, "")); len(ids) > 0 {
		return decider{by: componentOf(decisive(ids)), rules: ids}, true
	}
	if text := ownWebhook.ReplaceAllString(message, ""); text != message {
		if id := noderestriction.RuleOfUpstream(text); id != "" {
			return decider{by: componentOf(id), rules: []rules.ID{id}}, true
		}
	}
	if id := noderestriction.RuleOfUpstream(message); id != "" {
		return decider{by: inTreeRestriction + likeThisRule, rules: []rules.ID{id}}, true
	}
	for _, other := range otherAdmission {
		if other.text.MatchString(message) {
			return decider{by: other.by}, true
		}
	}
	return decider{}, false
}
