// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reloads reads from an API server's metrics which files it has loaded.
//
// Source: k8s.io/apiserver/pkg/server/options/authorizationconfig/metrics and
// pkg/admission/plugin/manifest/metrics (KEP-3221, KEP-5793).
package scopesync

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// maxLine is far above what a metric has.
const maxLine = 1 << 20

// LoadedFile is one file, or one directory of files, as a server tells of it.
type LoadedFile struct {
	// Hash is that of what is in force, as sha256:<hex>; empty if there is none.
	Hash string
	// Refused is true if what the server read last was no good, so that it goes on with
	// what it had.
	Refused bool

	success, failure float64
}

// LoadedFiles is what a server tells.
type LoadedFiles struct{ Authorization, Admission LoadedFile }

// The metrics, and of the second kind those of the plugin that calls our webhook.
const (
	authorizationPrefix = "apiserver_authorization_config_controller_"
	admissionPrefix     = "apiserver_manifest_admission_config_controller_"
	plugin              = "ValidatingAdmissionWebhook"
	hashes              = "last_config_info{"
	times               = "automatic_reload_last_timestamp_seconds{"
)

// ReadLoaded asks the API server that the client is of. It needs get on /metrics.
func ReadLoaded(ctx context.Context, client rest.Interface) (LoadedFiles, error) {
	body, err := client.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Stream(ctx)
	if err != nil {
		return LoadedFiles{}, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	defer func() { _ = body.Close() }()
	return parseLoaded(body)
}

// parseLoaded reads metrics as text, of which it keeps one line at a time. Metrics that end
// early are an error: what is missing would be taken for what is not loaded.
func parseLoaded(metrics io.Reader) (LoadedFiles, error) {
	var s LoadedFiles
	lines := bufio.NewScanner(metrics)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), authorizationPrefix); ok {
			s.Authorization.take(rest)
		}
		if rest, ok := strings.CutPrefix(lines.Text(), admissionPrefix); ok && label(rest, "plugin") == plugin {
			s.Admission.take(rest)
		}
	}
	if err := lines.Err(); err != nil {
		return LoadedFiles{}, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	s.Authorization.Refused = s.Authorization.failure > s.Authorization.success
	s.Admission.Refused = s.Admission.failure > s.Admission.success
	return s, nil
}

func (l *LoadedFile) take(line string) {
	switch {
	case strings.HasPrefix(line, hashes):
		l.Hash = label(line, "hash")
	case strings.HasPrefix(line, times) && label(line, "status") == "failure":
		l.failure = value(line)
	case strings.HasPrefix(line, times):
		l.success = value(line)
	}
}

// label is the value of a label. Another one may end like it.
func label(line, name string) string {
	for _, begin := range []string{"{", ","} {
		if _, rest, found := strings.Cut(line, begin+name+`="`); found {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

func value(line string) float64 {
	_, text, _ := strings.Cut(line, "} ")
	number, _ := strconv.ParseFloat(strings.TrimSpace(text), 64) // what is no number is never
	return number
}
