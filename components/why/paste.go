// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

var (
	// start is the beginning of the API server's message: of a denial, or of an internal error. A webhook
	// and a policy are named before the message that they return.
	start = regexp.MustCompile(`(?:admission webhook "[^"]+"\s+denied\s+the\s+request:\s+|` +
		`ValidatingAdmissionPolicy\s+'[^']+'\s+with\s+binding\s+'[^']+'\s+denied\s+request:\s+)?` +
		`[a-z0-9.-]+\s+(?:"(?:[^"\\]|\\.)*"\s+)?is\s+forbidden:\s+|Internal error occurred: `)
	// aboutUser follows the beginning of a message of authorization.
	aboutUser = regexp.MustCompile(`^User\s+"`)
	// before is what kubectl and other clients write before another message.
	before = regexp.MustCompile(`^(?:error: |Error from server(?: \([A-Za-z]+\))?: |(?:E|W)[0-9]{4} [^\]]{1,80}\] )+`)
	// logged is the beginning of a quoted value in a log line of klog.
	logged = regexp.MustCompile(`[A-Za-z][\w./-]*="`)
	// tail is what can follow a message in a log line: its closing quote and further values.
	tail = regexp.MustCompile(`"+(?:\s+[A-Za-z][\w./-]*=|[\])}]*\s*$)`)
	// tailOfLines is the same for a value of several lines.
	tailOfLines = regexp.MustCompile(`\n\s*>(?:\s[\s\S]*)?$`)
	// unescape reverts one level of Go's quotes.
	unescape = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t")
)

const (
	// maxQuotes bounds how often a message is quoted: in an error, and then in a log line.
	maxQuotes = 3
	// maxValues bounds the values of a log line.
	maxValues = 100
)

// MessageOf returns the message in a JSON object that is not an audit event: a Status, an Event of a
// pod, or a log line in JSON. It returns false if there is none.
func MessageOf(text []byte) (string, bool) {
	var object struct{ APIVersion, Message, Err, Error any }
	if json.Unmarshal(text, &object) != nil {
		return "", false
	}
	// Log shippers add fields to an event.
	if version, _ := object.APIVersion.(string); strings.HasPrefix(version, auditv1.GroupName+"/") {
		return "", false
	}
	for _, value := range []any{object.Err, object.Error, object.Message} {
		if message, ok := value.(string); ok && message != "" {
			return message, true
		}
	}
	return "", false
}

// statusMessage returns the API server's Status.message, without the text of a client around it:
// kubectl, an event of a pod, or a log line of the kubelet. joined is true if another message about a
// user follows in the same text.
func statusMessage(text string) (message string, joined bool) {
	text = unescaped(strings.TrimSpace(text))
	if at := startOf(text); at >= 0 {
		text, joined = withoutNext(text[at:])
	} else {
		text = strings.TrimPrefix(text, before.FindString(text))
	}
	text = strings.TrimSpace(withoutTail(text))
	// The reasons of several authorizers are one on each line. Other line breaks are those of a terminal.
	if strings.Contains(text, "\n") && !unauthorized.MatchString(text) {
		text = onOneLine(text)
	}
	return text, joined
}

func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// startOf returns where the API server's message begins, or -1. A client writes its own text first, so
// the last beginning counts. A message about a user is never inside of another one.
func startOf(text string) int {
	at := -1
	for _, found := range start.FindAllStringIndex(text, -1) {
		if aboutUser.MatchString(text[found[1]:]) {
			return found[0]
		}
		at = found[0]
	}
	return at
}

// unescaped reverts the quotes of log lines and of errors that have the message. It keeps those of a
// name inside of a message.
func unescaped(text string) string {
	for range maxQuotes {
		if value, ok := loggedValue(text); ok {
			text = value
			continue
		}
		if !strings.Contains(text, `\"`) || unauthorized.MatchString(text) || named.MatchString(text) {
			return text
		}
		text = unescape.Replace(text)
	}
	return text
}

// loggedValue returns the value of a log line that has the message.
func loggedValue(text string) (string, bool) {
	for _, found := range logged.FindAllStringIndex(text, maxValues) {
		quoted, err := strconv.QuotedPrefix(text[found[1]-1:])
		if err != nil {
			continue
		}
		if value, err := strconv.Unquote(quoted); err == nil && decides(value) {
			return value, true
		}
	}
	return "", false
}

// decides reports whether a text can be a denial.
func decides(text string) bool {
	return start.MatchString(text) || ofKubelet.MatchString(text) || ruleID.MatchString(text)
}

// withoutTail removes what follows the message in a log line. The quote before it has no partner in
// the message.
func withoutTail(text string) string {
	if at := tailOfLines.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	quotes, at := 0, 0
	for _, found := range tail.FindAllStringIndex(text, -1) {
		for ; at < found[0]; at++ {
			switch text[at] {
			case '\\':
				at++ // an escaped quote belongs to a name
			case '"':
				quotes++
			}
		}
		if at == found[0] && quotes%2 == 0 {
			return text[:at]
		}
	}
	return text
}
