// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/internal/loglines"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// maxLogLine is far above the longest line of a component. Strings of a request are short in it.
const maxLogLine = 1 << 20

// LineStats are the numbers of lines that were read.
type LineStats struct {
	// Lines are all lines, Findings those with a finding. TooLong are lines that were skipped.
	Lines    int64 `json:"lines"`
	Findings int64 `json:"findings"`
	TooLong  int64 `json:"tooLong,omitempty"`
}

// ReadLogs reads the logs of node-authorizer, node-restriction and kubelet-auth-proxy from a file. They
// may be mixed. It ignores all other lines.
func (r *Report) ReadLogs(in io.Reader) (LineStats, error) { return r.ReadLogOf(anyLog, in) }

// eachLine calls use for each line that is not too long. use reports whether the line has a finding.
func eachLine(in io.Reader, most int, use func([]byte) bool) (LineStats, error) {
	var stats LineStats
	lines := loglines.New(in, most)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return stats, nil
		case errors.Is(err, loglines.ErrTooLong):
			stats.Lines++
			stats.TooLong++
			continue
		case err != nil:
			return stats, fmt.Errorf("cannot read the log to its end: %w", err)
		}
		stats.Lines++
		if use(line) {
			stats.Findings++
		}
	}
}

// logFindings returns the findings in one line. A line may begin with text that a container runtime
// or kubectl has added.
func logFindings(line []byte) []Finding {
	if marker := []byte(`"` + auditfindings.LogMessage + `" `); bytes.Contains(line, marker) {
		_, rest, _ := bytes.Cut(line, marker)
		return textFinding(string(rest))
	}
	parsed, ok := jsonLine(line)
	switch {
	case !ok:
		return nil
	case parsed.Msg == auditfindings.LogMessage:
		return parsed.finding()
	}
	return parsed.proxyFindings()
}

// jsonLine parses a line in JSON. ok is false if it has no finding.
func jsonLine(line []byte) (parsed logLine, ok bool) {
	start := bytes.IndexByte(line, '{')
	if start < 0 || !mayHaveFindings(line) {
		return parsed, false
	}
	err := json.Unmarshal(line[start:], &parsed)
	return parsed, err == nil
}

// mayHaveFindings is fast: most lines of the proxy are not parsed.
func mayHaveFindings(line []byte) bool {
	return bytes.Contains(line, []byte(auditfindings.LogMessage)) || bytes.Contains(line, []byte(`"findings"`))
}

// logLine has the fields of a line in JSON: of a component with --logging-format=json, or of
// kubelet-auth-proxy's audit log.
type logLine struct {
	Msg                                string
	User, Verb, Operation              string
	Group, Resource, Subresource, Path string
	Namespace, Name, Reason, Rule      string

	Stage, Node, Method, Pod string
	Findings                 []string
}

func (l *logLine) finding() []Finding {
	verb := l.Verb
	if verb == "" {
		verb = strings.ToLower(l.Operation)
	}
	if l.Resource == "" {
		l.Name = l.Path
	}
	return []Finding{{
		Rule: rules.ID(l.Rule), User: l.User, Verb: verb, Resource: resourceName(l.Group, l.Resource, l.Subresource),
		Namespace: l.Namespace, Name: l.Name, Reason: l.Reason,
	}}
}

// maxFindings bounds the findings of one line.
const maxFindings = 64

// proxyFindings skips the line before the request is forwarded: each request has another line at its
// end.
func (l *logLine) proxyFindings() []Finding {
	if l.Stage == "begin" {
		return nil
	}
	verb := l.Verb
	if verb == "" {
		verb = strings.ToLower(l.Method)
	}
	var findings []Finding
	for _, id := range l.Findings[:min(len(l.Findings), maxFindings)] {
		findings = append(findings, Finding{Rule: rules.ID(id), User: l.User, Verb: verb,
			Resource: resourceName("", "nodes", l.Subresource), Name: l.Node, Node: l.Node, Reason: l.Method + " " + l.Path})
	}
	return findings
}

// textFinding reads the key-value pairs of klog's text format.
func textFinding(pairs string) []Finding {
	var l logLine
	fields := map[string]*string{
		"user": &l.User, "verb": &l.Verb, "operation": &l.Operation, "group": &l.Group, "resource": &l.Resource,
		"subresource": &l.Subresource, "namespace": &l.Namespace, "name": &l.Name, "path": &l.Path, "rule": &l.Rule,
		"reason": &l.Reason,
	}
	for pairs = strings.TrimLeft(pairs, " "); pairs != ""; pairs = strings.TrimLeft(pairs, " ") {
		key, rest, found := strings.Cut(pairs, "=")
		if !found {
			break
		}
		value, after := textValue(rest)
		if field := fields[key]; field != nil {
			*field = value
		}
		pairs = after
	}
	return l.finding()
}

// textValue returns the first value of a text, and the text after it.
func textValue(text string) (value, rest string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
		value, _ = strconv.Unquote(quoted)
		return value, text[len(quoted):]
	}
	value, rest, _ = strings.Cut(text, " ")
	return strings.TrimRight(value, "\r\n"), rest
}
