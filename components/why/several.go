// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"regexp"
	"strings"
)

// maxNext bounds the lines that can begin another message.
const maxNext = 10

// onlyFirst is the note for a text of several messages.
const onlyFirst = "The text has several messages. Only the first one is explained: give one message at a time."

var (
	// lineOfNext is the beginning of a line that is another message of kubectl, or another log line.
	lineOfNext = regexp.MustCompile(`\n[ \t]*(?:Error from server|error: |[EWIF][0-9]{4} [0-9:.]+ )`)
	// beforeNext is what a client writes before a message, at the end of the message before it.
	beforeNext = regexp.MustCompile(`Error\s+from\s+server[\s\S]*$|\n[^\n]*$`)
	// ofKubectl is what kubectl writes before a message of the API server.
	ofKubectl = regexp.MustCompile(`^(?:error: |Error from server(?: \([A-Za-z]+\))?: |error when [a-z ]+ "[^"]*": )*`)
	// ofLogs is what the API server adds to the answer of a kubelet, in kubectl logs.
	ofLogs = regexp.MustCompile(`\( ?[a-z]* ?pods/log [^()]*\)\s*$`)
)

// firstMessage returns the text up to the next message of kubectl, or the next log line. several is
// true if there is one.
func firstMessage(text string) (first string, several bool) {
	for _, next := range lineOfNext.FindAllStringIndex(text, maxNext) {
		if first = text[:next[0]]; decides(unescaped(strings.TrimSpace(first))) {
			return first, true
		}
	}
	return text, false
}

// withoutNext returns the message at the beginning of the text, without another one about a user that
// follows it. It returns false if the text has only one message.
func withoutNext(text string) (string, bool) {
	for i, found := range start.FindAllStringIndex(text, maxValues) {
		if i == 0 || !aboutUser.MatchString(text[found[1]:]) {
			continue
		}
		text = beforeNext.ReplaceAllString(text[:found[0]], "")
		return strings.TrimRight(text, ",;[] \t\r\n"), true
	}
	return text, false
}

// relayed reports whether a node can have written the message: it is in an event, in a log line, or in
// the text of kubectl exec or kubectl logs.
func relayed(text, message string) bool {
	text = strings.TrimPrefix(strings.TrimSpace(text), ofKubectl.FindString(strings.TrimSpace(text)))
	return !strings.HasPrefix(onOneLine(text), onOneLine(message)) || ofLogs.MatchString(message)
}
