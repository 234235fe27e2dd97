// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// The values are those of kind's configuration of Envoy.
const (
	checkInterval      = 2 * time.Second
	checkTimeout       = 3 * time.Second
	unhealthyThreshold = 2
	connectTimeout     = 250 * time.Millisecond
)

// server is one API server.
type server struct {
	address string
	stop    context.CancelFunc
	// balancer.mu guards these. failures is the number of failed checks since the last good one.
	healthy  bool
	failures int
}

// balancer forwards TCP connections to healthy servers in turn.
type balancer struct {
	check func(ctx context.Context, address string) error
	dial  func(address string) (net.Conn, error)

	mu      sync.Mutex
	servers []*server
	next    int
}

func newBalancer(check func(context.Context, string) error, dial func(string) (net.Conn, error)) *balancer {
	return &balancer{check: check, dial: dial}
}

// configure replaces the servers. It keeps what is known about a server that stays.
func (b *balancer) configure(ctx context.Context, config []byte) error {
	addresses, err := parseServers(config)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known := map[string]*server{}
	for _, s := range b.servers {
		known[s.address] = s
	}
	b.servers = nil
	for _, address := range addresses {
		s := known[address]
		delete(known, address)
		if s == nil {
			// As in Envoy, a server is healthy after its first good check.
			s = &server{address: address}
			var checking context.Context
			checking, s.stop = context.WithCancel(ctx)
			go b.watch(checking, s)
		}
		b.servers = append(b.servers, s)
	}
	for _, gone := range known {
		gone.stop()
	}
	return nil
}

// watch checks a server until it is removed.
func (b *balancer) watch(ctx context.Context, s *server) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		checking, cancel := context.WithTimeout(ctx, checkTimeout)
		err := b.check(checking, s.address)
		cancel()
		b.record(s, err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (b *balancer) record(s *server, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := s.healthy
	if err == nil {
		s.healthy, s.failures = true, 0
	} else if s.failures++; s.failures >= unhealthyThreshold {
		s.healthy = false
	}
	if s.healthy != was {
		log.Printf("%s healthy: %t (%v)", s.address, s.healthy, err)
	}
}

// choose returns the healthy servers, beginning with the one whose turn it is. If no server is
// healthy, it returns all of them, as Envoy does: on a slow machine, all checks can be late.
func (b *balancer) choose() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var healthy, all []string
	for i := range b.servers {
		s := b.servers[(b.next+i)%len(b.servers)]
		all = append(all, s.address)
		if s.healthy {
			healthy = append(healthy, s.address)
		}
	}
	b.next++
	if len(healthy) == 0 {
		return all
	}
	return healthy
}

func (b *balancer) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Print(err)
			time.Sleep(checkInterval)
			continue
		}
		go b.forward(client)
	}
}

// forward connects the client to the first server that accepts.
func (b *balancer) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	for _, address := range b.choose() {
		upstream, err := b.dial(address)
		if err != nil {
			continue
		}
		defer func() { _ = upstream.Close() }()
		var both sync.WaitGroup
		both.Go(func() { pipe(upstream, client) })
		both.Go(func() { pipe(client, upstream) })
		both.Wait()
		return
	}
}

// pipe copies until the source ends, and tells the target that nothing follows.
func pipe(target, source net.Conn) {
	_, _ = io.Copy(target, source)
	if half, ok := target.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

func dial(address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: connectTimeout}).DialContext(context.Background(), "tcp", address)
}

// healthz does not verify the server, as kind's Envoy does not: it sends no secret.
func healthz(ctx context.Context, address string) error {
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // see above
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz: %s", response.Status)
	}
	return nil
}

// parseServers returns the addresses in Envoy's configuration of clusters.
func parseServers(config []byte) ([]string, error) {
	var parsed struct {
		Resources []struct {
			LoadAssignment struct {
				Endpoints []struct {
					LBEndpoints []struct {
						Endpoint struct {
							Address struct {
								SocketAddress struct {
									Address   string `json:"address"`
									PortValue int    `json:"port_value"`
								} `json:"socket_address"`
							} `json:"address"`
						} `json:"endpoint"`
					} `json:"lb_endpoints"`
				} `json:"endpoints"`
			} `json:"load_assignment"`
		} `json:"resources"`
	}
	if err := yaml.Unmarshal(config, &parsed); err != nil {
		return nil, err
	}
	var addresses []string
	for _, resource := range parsed.Resources {
		for _, endpoints := range resource.LoadAssignment.Endpoints {
			for _, e := range endpoints.LBEndpoints {
				at := e.Endpoint.Address.SocketAddress
				addresses = append(addresses, net.JoinHostPort(at.Address, strconv.Itoa(at.PortValue)))
			}
		}
	}
	return addresses, nil
}
