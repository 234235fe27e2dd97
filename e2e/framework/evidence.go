// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const (
	auditLog = "/var/log/kubernetes/audit/audit.log"
	// componentLogs are the node authorizer's, of this and the last container.
	componentLogs = "/var/log/pods/kube-system_bulkhead-node-authorizer-*/*/*.log"
	// clockSlack is how far the clocks of the host and of the suite may differ.
	clockSlack = 2 * time.Second
)

// keepEvidence saves, for a spec that failed, what the API server's audit log
// and the node authorizer's log say of it, and names the files in the failure.
func (s *Suite) keepEvidence(ctx ginkgo.SpecContext) {
	spec := ginkgo.CurrentSpecReport()
	if !spec.Failed() || s.Cluster == nil || s.Host == nil {
		return
	}
	if why := s.Host.Missing(); why != "" {
		ginkgo.AddReportEntry("evidence", "none: "+why, ginkgo.ReportEntryVisibilityFailureOrVerbose)
		return
	}
	since := spec.StartTime.Add(-clockSlack)
	base := filepath.Join(s.Settings.Artifacts, "failures", fileName(spec))
	s.keep(base+".audit.jsonl", func() (string, error) { return s.auditSlice(ctx, since, users(spec)) })
	s.keep(base+".node-authorizer.log", func() (string, error) { return s.componentLog(ctx, since) })
}

func (s *Suite) keep(path string, read func() (string, error)) {
	content, err := read()
	if err == nil {
		err = writeFile(path, content)
	}
	note := path
	if err != nil {
		note = fmt.Sprintf("%s: not kept: %v", path, err)
	}
	ginkgo.AddReportEntry("evidence", note, ginkgo.ReportEntryVisibilityFailureOrVerbose)
}

func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making a directory for %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

func fileName(spec types.SpecReport) string {
	const longest = 120
	name := strings.Trim(notInFileNames.ReplaceAllString(spec.FullText(), "-"), "-")
	return name[:min(len(name), longest)]
}

// Audited returns the audit events of these users since a moment. Without users
// it returns all events.
func (c *Cluster) Audited(ctx context.Context, since time.Time, users ...string) ([]auditv1.Event, error) {
	slice, err := c.auditSlice(ctx, since, users)
	if err != nil {
		return nil, err
	}
	var events []auditv1.Event
	for line := range strings.Lines(slice) {
		var event auditv1.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		events = append(events, event)
	}
	return events, nil
}

// auditSlice selects lines of the audit log, of which the end is enough. What
// the host leaves out does not have to travel.
func (c *Cluster) auditSlice(ctx context.Context, since time.Time, users []string) (string, error) {
	script := "tail -n 20000 " + auditLog
	if len(users) > 0 {
		script += " | { grep -F -e '" + strings.Join(users, "' -e '") + "' || true; }"
	}
	log, err := c.Host.Run(ctx, c.ControlPlane, script)
	if err != nil {
		return "", err
	}
	var slice strings.Builder
	for line := range strings.Lines(log) {
		var event auditv1.Event
		if json.Unmarshal([]byte(line), &event) != nil || event.StageTimestamp.Time.Before(since) {
			continue
		}
		if len(users) == 0 || slices.Contains(users, actor(event)) {
			slice.WriteString(line)
		}
	}
	return slice.String(), nil
}

// actor is the user as whom the request was decided.
func actor(event auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}

// componentLog returns the lines of the node authorizer's logs since a moment.
// Each begins with the container runtime's timestamp.
func (c *Cluster) componentLog(ctx context.Context, since time.Time) (string, error) {
	log, err := c.Host.Run(ctx, c.ControlPlane, "tail -q -n 20000 "+componentLogs)
	if err != nil {
		return "", err
	}
	var slice strings.Builder
	for line := range strings.Lines(log) {
		stamp, _, _ := strings.Cut(line, " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err != nil || !at.Before(since) {
			slice.WriteString(line)
		}
	}
	return slice.String(), nil
}
