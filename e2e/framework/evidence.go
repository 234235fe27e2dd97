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
	// auditLogs are all that are left, the oldest first.
	auditLogs = "/var/log/kubernetes/audit/audit-*.log " + auditLog
	// componentLogs are the node authorizer's, of this and the last container, and
	// restrictionLogs those of node-restriction.
	componentLogs   = "/var/log/pods/kube-system_bulkhead-node-authorizer-*/*/*.log"
	restrictionLogs = "/var/log/pods/kube-system_bulkhead-node-restriction-*/*/*.log"
	// kubeletProxyLogs are kubelet-auth-proxy's, on every node, and those of the second
	// proxies of specs.
	kubeletProxyLogs = "/var/log/pods/kube-system_*/" + kubeletProxyContainer + "/*.log"
	// clockSlack is how far the clocks of the host and of the suite may differ.
	clockSlack = 2 * time.Second
)

// keepEvidence saves, for a spec that failed, what the API server's audit log
// and the components' logs say of it, and names the files in the failure.
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
	for name, files := range map[string]string{".node-authorizer.log": componentLogs,
		".node-restriction.log": restrictionLogs} {
		s.keep(base+name, func() (string, error) { return s.logSince(ctx, s.ControlPlane, files, since) })
	}
	for _, node := range []string{s.ControlPlane, s.Worker} {
		if node != "" && s.Settings.Profile == Hardened {
			s.keep(base+".kubelet-auth-proxy."+node+".log",
				func() (string, error) { return s.logSince(ctx, node, kubeletProxyLogs, since) })
		}
	}
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

// AuditedWhere returns the audit events since a moment whose lines have all of
// these texts, from everything that the host has kept of the audit log.
func (c *Cluster) AuditedWhere(ctx context.Context, since time.Time, texts ...string) ([]auditv1.Event, error) {
	script := "cat " + auditLogs + " 2>/dev/null"
	for _, text := range texts {
		script += " | { grep -F -e '" + text + "' || true; }"
	}
	log, err := c.Host.Run(ctx, c.ControlPlane, script)
	if err != nil {
		return nil, err
	}
	var events []auditv1.Event
	for line := range strings.Lines(log) {
		var event auditv1.Event
		if json.Unmarshal([]byte(line), &event) == nil && !event.StageTimestamp.Time.Before(since) {
			events = append(events, event)
		}
	}
	return events, nil
}

// actor is the user as whom the request was decided.
func actor(event auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}

// ComponentLog returns the lines of the node authorizer's logs since a moment,
// less a little for clocks that differ.
func (c *Cluster) ComponentLog(ctx context.Context, since time.Time) (string, error) {
	return c.logSince(ctx, c.ControlPlane, componentLogs, since.Add(-clockSlack))
}

// logSince returns the lines of a component's logs since a moment. Each begins with
// the container runtime's timestamp.
func (c *Cluster) logSince(ctx context.Context, node, files string, since time.Time) (string, error) {
	log, err := c.Host.Run(ctx, node, "tail -q -n 20000 "+files)
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
