// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Denial is what a text says about a decision: the message of an error, or an event of an audit log.
type Denial struct {
	// Message is the whole text. Reason is the authorizers' reason, if the text has one.
	Message, Reason string
	// Request is nil if the text does not name it.
	Request *Request
	// Allowed is true for an event of a request that was allowed.
	Allowed bool
	// Authorized is true if the authorizers have allowed the request. So admission has denied it.
	Authorized bool
	// Findings are rules in audit mode that would have denied the request.
	Findings []rules.Finding
}

var (
	// ruleID matches a rule ID. A reason may name more than one rule: node scope also names the rule of
	// NodeRestriction that it applies.
	ruleID = regexp.MustCompile(`\[((?:NA|NR|NS|KA)-[A-Z0-9-]{1,64})\]`)
	// before is what kubectl and other clients write before the message of an error.
	before = regexp.MustCompile(`^(?:error: |Error from server(?: \([A-Za-z]+\))?: |(?:E|W)[0-9]{4} [^\]]{1,80}\] )+`)
	// unauthorized is the message of the API server's authorization.
	//
	// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go forbiddenMessage.
	unauthorized = regexp.MustCompile(`User "([^"]*)" cannot ([^ "]+) (?:path "([^"]*)"|` +
		`resource "([^"]*)" in API group "([^"]*)" (?:in the namespace "([^"]*)"|at the cluster scope))(?:: ([\s\S]*))?$`)
	// named is the beginning of a message about an object.
	named = regexp.MustCompile(`^[a-z0-9.-]+ "([^"]*)" is forbidden: `)
	// ofKubelet is the answer of a kubelet, or of kubelet-auth-proxy.
	//
	// Source: pkg/kubelet/server/server.go InstallAuthFilter.
	ofKubelet = regexp.MustCompile(`Forbidden \(user=([^,()]*), verb=([a-z]*), resource=nodes, ` +
		`subresource(?:\(s\))?=\[?([a-z]*)[^)]*\)`)
)

// ParseMessage reads the message of an error. Any text is a message.
func ParseMessage(text string) Denial {
	text = strings.TrimSpace(text)
	d := Denial{Message: strings.TrimSpace(strings.TrimPrefix(text, before.FindString(text)))}
	found := unauthorized.FindStringSubmatch(d.Message)
	if found == nil {
		d.Authorized = !ofKubelet.MatchString(d.Message)
		return d
	}
	d.Reason = found[7]
	resource, subresource, _ := strings.Cut(found[4], "/")
	d.Request = &Request{Verb: found[2], Path: found[3], Resource: resource, Subresource: subresource, Group: found[5],
		Namespace: found[6]}
	if name := named.FindStringSubmatch(d.Message); name != nil {
		d.Request.Name = name[1]
	}
	if d.Request.As(unescape.Replace(found[1]), Identity{}) != nil {
		d.Request = nil
	}
	return d
}

// unescape reverts what the API server does to the text before the reason.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// namedRules returns the IDs in the text, each once.
func namedRules(text string) []rules.ID {
	var ids []rules.ID
	for _, match := range ruleID.FindAllStringSubmatch(text, maxRules) {
		if id := rules.ID(match[1]); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// maxRules bounds the rules of one text. A real one has at most the rules of a few findings.
const maxRules = 50
