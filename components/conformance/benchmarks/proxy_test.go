// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/fake"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/loadtest"
)

var proxies = []string{"bulkhead", "bare"}

// runningProxies keeps each proxy running until the end.
var runningProxies = map[string]*proxy{}

func runningProxy(b *testing.B, subject string) *proxy {
	b.Helper()
	if runningProxies[subject] == nil {
		p := startProxy(b, subject)
		runningProxies[subject] = p
		shared.stops = append(shared.stops, p.Stop)
	}
	return runningProxies[subject]
}

// BenchmarkProxyRequest gets bodies from the kubelet, with a client certificate and HTTP/2.
func BenchmarkProxyRequest(b *testing.B) {
	for _, body := range []struct {
		name, path string
		size       int64
	}{{"2KB", fake.Small, fake.SmallBytes}, {"40KB", fake.Large, fake.LargeBytes}} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("body=%s/callers=%d", body.name, callers), func(b *testing.B) {
				for _, subject := range proxies {
					b.Run("subject="+subject, func(b *testing.B) {
						call := runningProxy(b, subject).getter(body.path, body.size)
						if callers == 1 {
							loadtest.OneCaller(b, call)
						} else {
							loadtest.ManyCallers(b, callers, call)
						}
					})
				}
			})
		}
	}
}

// getter returns a function that gets a body of this size.
func (p *proxy) getter(path string, size int64) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: p.tls(), ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 128, DisableCompression: true,
	}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.address+path, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		n, err := io.Copy(io.Discard, answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || n != size) {
			err = fmt.Errorf("%s: %s, %d bytes", path, answer.Status, n)
		}
		return err
	}
}

// streamBytes is the number of bytes in one stream.
const streamBytes = 64 << 20

// BenchmarkProxyStream sends bytes from the kubelet through an upgraded connection, as exec does.
func BenchmarkProxyStream(b *testing.B) {
	for _, subject := range proxies {
		b.Run("subject="+subject, func(b *testing.B) {
			p := runningProxy(b, subject)
			b.SetBytes(streamBytes)
			for b.Loop() {
				conn, reader, err := p.open(b.Context(), "a", fmt.Sprintf("bytes=%d", streamBytes))
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, reader)
				if err := errors.Join(err, conn.Close()); err != nil || n != streamBytes {
					b.Fatalf("%d bytes of %d, error %v", n, streamBytes, err)
				}
			}
		})
	}
}

var errNoStream = errors.New("no stream")

// open requests a stream in a namespace, and waits for the kubelet's answer. The returned reader
// continues with the stream.
func (p *proxy) open(ctx context.Context, namespace, query string) (net.Conn, *bufio.Reader, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(
		conn,
		"POST %s?%s HTTP/1.1\r\nHost: node\r\nContent-Length: 0\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
		fake.In(fake.Stream, namespace),
		query,
	)
	reader := bufio.NewReaderSize(conn, 32<<10)
	answer, err := http.ReadResponse(reader, nil)
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		err = fmt.Errorf("%w: %s", errNoStream, answer.Status)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, reader, nil
}

// idleStreams is the number of streams that are open at one time.
const idleStreams = 1000

// BenchmarkProxyIdleStreams measures the memory of idle streams.
func BenchmarkProxyIdleStreams(b *testing.B) {
	for _, subject := range proxies {
		b.Run("subject="+subject, func(b *testing.B) {
			var inUse, resident float64
			for b.Loop() {
				p := startProxy(b, subject)
				usedBefore, residentBefore := p.settled(b)
				var open []net.Conn
				for range idleStreams {
					conn, _, err := p.open(b.Context(), "a", "")
					if err != nil {
						b.Fatal(err)
					}
					open = append(open, conn)
				}
				usedAfter, residentAfter := p.settled(b)
				inUse, resident = (usedAfter-usedBefore)/idleStreams, (residentAfter-residentBefore)/idleStreams
				for _, conn := range open {
					_ = conn.Close()
				}
				p.Stop()
			}
			if subject == "bulkhead" {
				b.ReportMetric(inUse/1024, "heap-KiB/stream")
			}
			b.ReportMetric(resident/1024, "rss-KiB/stream")
		})
	}
}

// settled makes requests until the proxy has run a garbage collection. For a proxy without such a
// metric it makes requests for two seconds. It returns the heap with the stacks, and the resident
// memory.
func (p *proxy) settled(b *testing.B) (inUse, resident float64) {
	b.Helper()
	get := p.getter(fake.Small, fake.SmallBytes)
	const cycles = "go_gc_cycles_total_gc_cycles_total"
	until, values := time.Now().Add(2*time.Second), map[string]float64{}
	for first := -1.0; p.health != "" && values[cycles] < first+3 || time.Now().Before(until); {
		for range 200 {
			if err := get(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if p.health == "" {
			continue
		}
		var err error
		if values, err = p.health.Metrics(b.Context()); err != nil {
			b.Fatal(err)
		}
		if first < 0 {
			first = values[cycles]
		}
	}
	memory, err := p.Memory()
	if err != nil {
		b.Fatal(err)
	}
	return values["go_gc_heap_live_bytes"] + values["go_memory_classes_heap_stacks_bytes"], memory.Now * 1e6
}

// BenchmarkProxyFairShare times the streams of one tenant, first without other load, then while
// another tenant has as many streams as the proxy allows.
func BenchmarkProxyFairShare(b *testing.B) {
	for _, load := range []string{"none", "another-tenant"} {
		b.Run("load="+load, func(b *testing.B) {
			p := startProxy(b, "bulkhead")
			defer p.Stop()
			var all []net.Conn
			for load == "another-tenant" {
				conn, _, err := p.open(b.Context(), "greedy", "")
				if errors.Is(err, errNoStream) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
				all = append(all, conn)
			}
			loadtest.OneCaller(b, func(ctx context.Context) error {
				conn, _, err := p.open(ctx, "modest", "")
				if err == nil {
					err = conn.Close()
				}
				return err
			})
			b.ReportMetric(float64(len(all)), "streams-of-another")
			for _, conn := range all {
				_ = conn.Close()
			}
		})
	}
}
