// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	// maxLine is the maximum length of a line in a log. A line with bodies contains an object
	// twice.
	maxLine = 8 << 20
	// maxOpen is the maximum number of long-running requests that are remembered.
	maxOpen = 100_000
	// decided is the audit annotation with the decision of the API server's authorizers.
	//
	// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go.
	decided = "authorization.k8s.io/decision"
)

// LogStats are the numbers of requests and lines in a log.
type LogStats struct {
	// Requests are the permitted requests of the account, Refused are the denied ones.
	Requests, Refused int
	// Unreadable is the number of lines that are not audit events, or are too long.
	Unreadable int
	// First and Last are the times of the first and the last request. They are zero if there is
	// no request.
	First, Last time.Time
}

// Log reads an audit log of kube-apiserver: one audit.k8s.io/v1 event in JSON on each line. It
// is not safe for concurrent use.
type Log struct {
	account scopelist.Account
	user    string
	open    map[string]bool
	stats   LogStats
}

// NewLog returns a Log that looks for the requests of one account.
func NewLog(account scopelist.Account) *Log {
	return &Log{account: account, user: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		open: map[string]bool{}}
}

// Stats returns the numbers for everything that was read.
func (l *Log) Stats() LogStats { return l.stats }

var errNoLog = errors.New(
	"no line of it is an event of audit.k8s.io/v1 in JSON: give the file of kube-apiserver's --audit-log-path, with " +
		"--audit-log-format=json")

// Read calls see for each permitted request of the account. A line that cannot be parsed is
// counted and skipped. Read returns an error if it can parse no line of a log that is not
// empty, or if it cannot read the log to its end.
func (l *Log) Read(in io.Reader, see func(Request)) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	read := 0
	for {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			if read == 0 && l.stats.Unreadable > 0 {
				return errNoLog
			}
			return nil
		case errors.Is(err, errLong):
			l.stats.Unreadable++
			continue
		case err != nil:
			return fmt.Errorf("reading the audit log: %w", err)
		}
		if l.line(line, see) {
			read++
		}
	}
}

// line reports whether the line is an audit event.
func (l *Log) line(line []byte, see func(Request)) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	// Logs are long, and most lines are about other users. So lines without the user name are
	// not parsed.
	if !bytes.Contains(line, []byte(`"`+l.user+`"`)) {
		isEvent := bytes.Contains(line, []byte(`"audit.k8s.io/v1"`))
		if !isEvent {
			l.stats.Unreadable++
		}
		return isEvent
	}
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil || event.GroupVersionKind().Group != auditv1.GroupName {
		l.stats.Unreadable++
		return false
	}
	if event.User.Username == l.user && l.isNew(&event) {
		l.event(&event, see)
	}
	return true
}

// isNew is true once for each request. A long-running request has two events: one when the
// response starts and one when it ends.
func (l *Log) isNew(event *auditv1.Event) bool {
	id := string(event.AuditID)
	switch event.Stage {
	case auditv1.StageResponseStarted:
		if len(l.open) < maxOpen {
			l.open[id] = true
		}
		return true
	case auditv1.StageResponseComplete, auditv1.StagePanic:
		begun := l.open[id]
		delete(l.open, id)
		return !begun
	case auditv1.StageRequestReceived:
	}
	return false
}

func (l *Log) event(event *auditv1.Event, see func(Request)) {
	if wasRefused(event) {
		l.stats.Refused++
		return
	}
	l.stats.Requests++
	at := event.RequestReceivedTimestamp.Time
	if l.stats.First.IsZero() || at.Before(l.stats.First) {
		l.stats.First = at
	}
	if at.After(l.stats.Last) {
		l.stats.Last = at
	}
	see(requestOf(event))
}

func wasRefused(event *auditv1.Event) bool {
	if event.Annotations[decided] == "forbid" {
		return true
	}
	return event.ResponseStatus != nil && (event.ResponseStatus.Code == 401 || event.ResponseStatus.Code == 403)
}

var errLong = errors.New("a line is too long")

// readLine returns the next line, which is valid until the next call. It skips a line that is
// too long and returns errLong.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		if len(whole) <= maxLine {
			whole = append(whole, line...)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(whole) > maxLine {
		return nil, errLong
	}
	return whole, nil
}
