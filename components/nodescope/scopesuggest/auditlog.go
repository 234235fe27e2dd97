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
	// maxLine bounds one line of a log. With bodies in it, a line has an object twice.
	maxLine = 8 << 20
	// maxOpen bounds the requests that are remembered because they go on.
	maxOpen = 100_000
	// decided is how the API server's authorizers answered.
	//
	// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go.
	decided = "authorization.k8s.io/decision"
)

// LogStats say what was in a log.
type LogStats struct {
	// Requests are those of the account that were let pass, Refused the others.
	Requests, Refused int
	// Unreadable lines are none of an audit log, or too long.
	Unreadable int
	// First and Last are when the requests came; zero if there were none.
	First, Last time.Time
}

// Log reads an audit log as kube-apiserver writes it: an event of audit.k8s.io/v1 in
// JSON on each line. It is not safe for concurrent use.
type Log struct {
	account scopelist.Account
	user    string
	open    map[string]bool
	stats   LogStats
}

// NewLog prepares to look for one account.
func NewLog(account scopelist.Account) *Log {
	return &Log{account: account, user: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		open: map[string]bool{}}
}

// Stats are those of all that was read.
func (l *Log) Stats() LogStats { return l.stats }

var errNoLog = errors.New(
	"no line of it is an event of audit.k8s.io/v1 in JSON: give the file of kube-apiserver's --audit-log-path, with " +
		"--audit-log-format=json")

// Read calls see with each request of the account that was let pass. A line that cannot
// be read is counted and passed over; a log without any that can is an error, and so is
// one that cannot be read to its end.
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

// line reports whether it is one of an audit log.
func (l *Log) line(line []byte, see func(Request)) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	// Logs are long, and nearly all of it is somebody else's: a glance has to do.
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

// isNew is true once for each request: those that go on are told of when they begin and
// when they end.
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

// readLine returns the next line, which is the reader's until the next call, or errLong
// for one that it has passed over.
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
