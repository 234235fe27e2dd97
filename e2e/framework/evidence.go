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
	// auditLogs are the rotated audit log files and then the current one, the oldest first.
	auditLogs = rotatedAuditLogs + " " + auditLog
	// rotatedAuditLogs have the time of their rotation in the name, so they sort by age.
	rotatedAuditLogs = "/var/log/kubernetes/audit/audit-*.log"
	// componentLogs are the logs of node-authorizer, and restrictionLogs those of node-restriction.
	// Both include the previous container.
	componentLogs   = "/var/log/pods/kube-system_bulkhead-node-authorizer-*/*/*.log"
	restrictionLogs = "/var/log/pods/kube-system_bulkhead-node-restriction-*/*/*.log"
	// kubeletProxyLogs are the logs of kubelet-auth-proxy on every node, including the second
	// proxies of specs.
	kubeletProxyLogs = "/var/log/pods/kube-system_*/" + kubeletProxyContainer + "/*.log"
	// clockSlack bounds the clock difference between the host and the suite.
	clockSlack = 2 * time.Second
)

// keepEvidence saves log excerpts about a failed spec: the API server's audit log and the logs of
// the components. It adds the file names to the failure.
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
		note = fmt.Sprintf("%s: not saved: %v", path, err)
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

// Audited returns the audit events of these users since a time. Without users it returns all
// events.
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

// auditSlice selects lines from the end of the audit log. It also reads the newest rotated file,
// because kube-apiserver may rotate the log during a spec. The filter runs on the host to reduce the
// transfer.
func (c *Cluster) auditSlice(ctx context.Context, since time.Time, users []string) (string, error) {
	script := "tail -q -n 20000 $(ls " + rotatedAuditLogs + " 2>/dev/null | tail -n 1) " + auditLog
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

// AuditedWhere returns the audit events since a time whose lines contain all of these texts. It
// reads all audit log files on the host.
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

// actor returns the user for which the request was authorized.
func actor(event auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}

// ComponentLog returns the lines of node-authorizer's logs since a time, minus [clockSlack].
func (c *Cluster) ComponentLog(ctx context.Context, since time.Time) (string, error) {
	return c.logSince(ctx, c.ControlPlane, componentLogs, since.Add(-clockSlack))
}

// logSince returns the lines of a component's logs since a time. Each line begins with the
// container runtime's timestamp.
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
