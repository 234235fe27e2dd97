// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Health is the address of a program's health port: "http://127.0.0.1:10462".
type Health string

// Get copies the answer for a path. A status other than 200 is an error.
func (h Health) Get(ctx context.Context, path string, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, string(h)+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	_, err = io.Copy(to, answer.Body)
	return err
}

// Ready reports whether the program is ready.
func (h Health) Ready(ctx context.Context) bool { return h.Get(ctx, "/readyz", io.Discard) == nil }

// Metrics returns all metrics, by name with labels.
func (h Health) Metrics(ctx context.Context) (map[string]float64, error) {
	var page bytes.Buffer
	if err := h.Get(ctx, "/metrics", &page); err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(page.String()) {
		blank := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		if strings.HasPrefix(line, "#") || blank < 0 {
			continue
		}
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[blank:]), 64); err == nil {
			values[line[:blank]] = value
		}
	}
	return values, nil
}
