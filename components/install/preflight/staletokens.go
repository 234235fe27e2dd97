// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

const staleTokenCheck = "clients with old tokens"

const (
	// staleTokens counts the requests with a token that is older than an hour, and that is still
	// valid only because kube-apiserver extends tokens (pkg/serviceaccount/metrics.go).
	staleTokens = "serviceaccount_stale_tokens_total"
	extendFlag  = "service-account-extend-token-expiration"
	keepTokens  = "To keep extended tokens: `serviceAccountTokens: {extendExpiration: true}`"
	// mostLine is far above the longest line of kube-apiserver's metrics.
	mostLine = 1 << 20
)

// ServerMetrics returns a function that reads the metrics of the client's API server.
func ServerMetrics(client rest.Interface) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		return client.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Stream(ctx)
	}
}

// staleTokenFindings looks for clients that never read their token again. Their token works for a
// year while kube-apiserver extends tokens, and for about an hour after that.
func staleTokenFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.ExactTokens || in.Metrics == nil {
		return nil, nil
	}
	if value, _ := in.Server.Arg(extendFlag); value == "false" {
		return []Finding{{OK, staleTokenCheck,
			"kube-apiserver already has --" + extendFlag + "=false: nothing changes for them"}}, nil
	}
	count, err := StaleTokens(ctx, in.Metrics)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return []Finding{{Warn, staleTokenCheck,
			fmt.Sprintf("cannot read kube-apiserver's metric %s: %v. Check it before you install: if it is not 0, clients "+
				"lose access. "+keepTokens, staleTokens, err)}}, nil
	case count > 0:
		return []Finding{{Fail, staleTokenCheck,
			fmt.Sprintf("%s is %.0f: clients use tokens that would have expired with --%s=false. Find them in the audit log "+
				"with `bulkhead audit --audit-log`, and update or restart them. The metric is 0 again after a restart of "+
				"kube-apiserver. "+keepTokens,
				staleTokens, count, extendFlag)}}, nil
	}
	return []Finding{{OK, staleTokenCheck, "none since this API server started (" + staleTokens + " is 0)"}}, nil
}

// StaleTokens returns how many requests had a token that is valid only because kube-apiserver extends
// tokens. It reads one line at a time, because the metrics of a large cluster have many megabytes.
func StaleTokens(ctx context.Context, metrics func(context.Context) (io.ReadCloser, error)) (float64, error) {
	body, err := metrics(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), staleTokens+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, errors.New("the server does not have it")
}
