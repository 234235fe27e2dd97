// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

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

// maxLine is much longer than a line of a metric.
const maxLine = 1 << 20

// LoadedFile is the state of one file, or of one directory of files, as a server reports it.
type LoadedFile struct {
	// Hash is the hash of the content in force, as sha256:<hex>. It is empty if there is none.
	Hash string
	// Refused is true if the server could not load the last content that it read. Then it
	// continues with the content before.
	Refused bool

	success, failure float64
}

// LoadedFiles is the state of both files, as a server reports it.
type LoadedFiles struct{ Authorization, Admission LoadedFile }

// The names of the metrics. Of the admission metrics, only those of this plugin are used: it
// calls the webhook of node scope.
//
// Source: k8s.io/apiserver/pkg/server/options/authorizationconfig/metrics and
// pkg/admission/plugin/manifest/metrics (KEP-3221, KEP-5793).
const (
	authorizationPrefix = "apiserver_authorization_config_controller_"
	admissionPrefix     = "apiserver_manifest_admission_config_controller_"
	plugin              = "ValidatingAdmissionWebhook"
	hashes              = "last_config_info{"
	times               = "automatic_reload_last_timestamp_seconds{"
)

// ReadLoaded reads from the metrics of the client's API server which files that server has
// loaded. It needs permission to get /metrics.
func ReadLoaded(ctx context.Context, client rest.Interface) (LoadedFiles, error) {
	body, err := client.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Stream(ctx)
	if err != nil {
		return LoadedFiles{}, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	defer func() { _ = body.Close() }()
	return parseLoaded(body)
}

// parseLoaded parses metrics in text format, one line at a time. It returns an error if the
// metrics end early. Otherwise a missing line would look like a file that is not loaded.
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

// label returns the value of a label. It searches for the separator too, because the name of
// another label may end with the same text.
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
	number, _ := strconv.ParseFloat(strings.TrimSpace(text), 64) // 0 also if it cannot be parsed
	return number
}
