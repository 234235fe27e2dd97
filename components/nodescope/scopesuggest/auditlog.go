// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditlog"
	"github.com/bulkhead-k8s/bulkhead/components/internal/loglines"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// maxLine is the maximum length of a line in a log.
const maxLine = auditlog.MaxLine

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
	seen    auditlog.Requests
	stats   LogStats
}

// NewLog returns a Log that looks for the requests of one account.
func NewLog(account scopelist.Account) *Log {
	return &Log{account: account, user: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
}

// Stats returns the numbers for everything that was read.
func (l *Log) Stats() LogStats { return l.stats }

var errNoLog = auditlog.ErrNoEvents

// Read calls see for each permitted request of the account. A line that cannot be parsed is
// counted and skipped. Read returns an error if it can parse no line of a log that is not
// empty, or if it cannot read the log to its end.
func (l *Log) Read(in io.Reader, see func(Request)) error {
	lines := loglines.New(in, maxLine)
	read := 0
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			if read == 0 && l.stats.Unreadable > 0 {
				return errNoLog
			}
			return nil
		case errors.Is(err, loglines.ErrTooLong):
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
		isEvent := auditlog.IsEvent(line)
		if !isEvent {
			l.stats.Unreadable++
		}
		return isEvent
	}
	event, ok := auditlog.Parse(line)
	if !ok {
		l.stats.Unreadable++
		return false
	}
	if event.User.Username == l.user && l.seen.IsNew(event) {
		l.event(event, see)
	}
	return true
}

func (l *Log) event(event *auditv1.Event, see func(Request)) {
	if auditlog.IsDenied(event) {
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
