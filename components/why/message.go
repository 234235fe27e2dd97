// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"regexp"
	"slices"
	"strconv"
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
	// Notes are what the reader must know about the text.
	Notes []string
}

// MaxMessage bounds a message. A real one has at most a few KiB.
const MaxMessage = 64 << 10

var (
	// ruleID matches a rule ID. A reason may name more than one rule: node scope also names the rule of
	// NodeRestriction that it applies.
	ruleID = regexp.MustCompile(`\[((?:NA|NR|NS|KA)-[A-Z0-9-]{1,64})\]`)
	// unauthorized is the message of the API server's authorization.
	//
	// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go forbiddenMessage.
	unauthorized = regexp.MustCompile(`User "` + quoted + `" cannot ([^ "]+) (?:path "` + quoted + `"|` +
		`resource "` + quoted + `" in API group "` + quoted + `" (?:in the namespace "` + quoted +
		`"|at the cluster scope))(?:: ([\s\S]*))?$`)
	// named is a message about an object, up to its reason.
	named = regexp.MustCompile(`[a-z0-9.-]+\s+"` + quoted + `"\s+is\s+forbidden:\s+`)
	// ofKubelet is the answer of a kubelet, or of kubelet-auth-proxy, after what kubectl writes. The API
	// server quotes a name that a user has chosen, so such a name is never at the beginning.
	//
	// Source: pkg/kubelet/server/server.go InstallAuthFilter.
	ofKubelet = regexp.MustCompile(`^(?:error: |Error from server(?: \([A-Za-z]+\))?: |` +
		`unable to upgrade (?:connection|streaming request): |websocket: bad handshake \([A-Za-z0-9 ]*\): )*` +
		`Forbidden \(user=([^,()]*), verb=([a-z]*), resource=nodes, subresource(?:\(s\))?=\[?([a-z]*)[^)]*\)`)
)

// quoted is what is between the quotes of Go's %q. It may have escaped quotes: a user chooses the names.
const quoted = `((?:[^"\\]|\\.)*)`

// ParseMessage reads the message of an error. Any text is a message. It may be inside of the text of a
// client: kubectl, an event of a pod, or a log line.
func ParseMessage(text string) Denial {
	text, several := firstMessage(text)
	message, joined := statusMessage(text)
	d := Denial{Message: message}
	if several || joined {
		d.Notes = append(d.Notes, onlyFirst)
	}
	found := unauthorized.FindStringSubmatch(message)
	if found == nil {
		d.Authorized = !ofKubelet.MatchString(message)
		return d
	}
	d.Reason = found[7]
	resource, subresource, _ := strings.Cut(unquotedName(found[4]), "/")
	d.Request = &Request{Verb: found[2], Path: unquotedName(found[3]), Resource: resource, Subresource: subresource,
		Group: unquotedName(found[5]), Namespace: unquotedName(found[6]), Relayed: relayed(text, message)}
	head := message[:len(message)-len(found[0])]
	if at := named.FindStringSubmatchIndex(head); at != nil && at[1] == len(head) {
		d.Request.Name = unquotedName(head[at[2]:at[3]])
	}
	if d.Request.As(unquotedName(found[1]), Identity{}) != nil {
		d.Request = nil
	}
	return d
}

// unsanitize reverts what the API server does to the text before the reason.
var unsanitize = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// unquotedName returns a name as the user has written it, from what is between the quotes.
func unquotedName(text string) string {
	text = unsanitize.Replace(text)
	if name, err := strconv.Unquote(`"` + text + `"`); err == nil {
		return name
	}
	return text
}

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
