// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	// maxPage bounds, in bytes, the metrics of a component. It is many times the size of the largest.
	maxPage = 4 << 20
	// pageTimeout bounds the time to read a page, and then the time to send it.
	pageTimeout = 10 * time.Second
	// pagesPerUser and allPages bound the pages in memory.
	pagesPerUser, allPages = 4, 8
	// pageType is the format that is requested from a component, and sent to the client.
	pageType = "text/plain; version=0.0.4; charset=utf-8"
)

// components reads the metrics of Bulkhead's components on this node (rule KA-METRICS-2). It is safe
// for concurrent use.
type components struct {
	byName map[string]*component
	// names are all components, for the client.
	names     string
	transport http.RoundTripper
	limiter   *webhook.Limiter
	timeout   time.Duration
}

// component is one component of Bulkhead.
type component struct {
	name, address string
	// seen is true once the component has answered. After that, it is dead if nothing listens.
	seen atomic.Bool
}

func newComponents(addresses map[string]string) *components {
	c := &components{
		byName: map[string]*component{}, names: strings.Join(slices.Sorted(maps.Keys(addresses)), ", "),
		// The transport uses no proxy from the environment. It sends no request on a connection
		// that another request has used.
		transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, DisableKeepAlives: true,
			DisableCompression: true, MaxResponseHeaderBytes: maxAnswer,
		},
		limiter: webhook.NewLimiter(webhook.Limits{InFlightPerNode: pagesPerUser, InFlight: allPages}, queueTimeout),
		timeout: pageTimeout,
	}
	for name, address := range addresses {
		c.byName[name] = &component{name: name, address: address}
	}
	return c
}

// serveComponent answers an allowed request for the metrics of a component. The client chooses a
// component by name, and nothing else: no header, query or path of the client reaches it.
func (h *Handler) serveComponent(rc *requestContext, req *http.Request) {
	page, failed := h.components.read(req.Context(), rc.mapping.Component)
	// The page has its place among all pages until it is sent, so a slow reader must not keep it.
	_ = http.NewResponseController(rc).SetWriteDeadline(time.Now().Add(h.components.timeout))
	if failed != nil {
		rc.event.Cause = failed.Reason()
		failed.write(rc, req)
		return
	}
	header := rc.Header()
	header.Set("Content-Type", pageType)
	header.Set("Content-Length", strconv.Itoa(len(page)))
	header.Set("X-Content-Type-Options", "nosniff")
	rc.WriteHeader(http.StatusOK)
	if req.Method != http.MethodHead {
		_, _ = rc.Write(page)
	}
}

// read returns the metrics of a component, or the answer for the client.
func (c *components) read(ctx context.Context, name string) ([]byte, *response) {
	one, known := c.byName[name]
	if !known {
		return nil, plain(http.StatusNotFound, "Not found: no such component: use one of "+c.names)
	}
	page, err := c.fetch(ctx, one)
	switch {
	case err == nil:
		one.seen.Store(true)
		return page, nil
	case errors.Is(err, syscall.ECONNREFUSED) && !one.seen.Load():
		return nil, plain(http.StatusNotFound,
			fmt.Sprintf("Not found: %s does not run on this node: nothing listens on %s", one.name, one.address))
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, badPage(one, "it ran before, and now nothing listens on "+one.address)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, badPage(one, fmt.Sprintf("it did not answer within %v", c.timeout))
	case errors.Is(err, context.Canceled):
		return nil, plain(http.StatusBadGateway, "Bad gateway: the client canceled the request")
	case errors.As(err, new(pageError)):
		return nil, badPage(one, err.Error())
	default:
		return nil, badPage(one, "the connection failed")
	}
}

func badPage(one *component, text string) *response {
	return plain(http.StatusBadGateway, fmt.Sprintf("Bad gateway: cannot read metrics of %s on this node: %s; see its log",
		one.name, text))
}

// pageError means that an answer is not a page of metrics. It has no text of the answer, because any
// program on the host network can listen where a component is dead.
type pageError string

func (e pageError) Error() string { return string(e) }

func (c *components) fetch(ctx context.Context, one *component) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+one.address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", pageType)
	// A RoundTripper follows no redirect.
	answer, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, pageError(fmt.Sprintf("it answered with status %d", answer.StatusCode))
	}
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || media != "text/plain" {
		return nil, pageError("its answer is not plain text")
	}
	page, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, err
	case len(page) > maxPage:
		return nil, pageError(fmt.Sprintf("its answer has more than %d bytes", maxPage))
	}
	return page, nil
}
