// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClientIsItsAddress(t *testing.T) {
	for _, row := range []struct {
		name, one, other string
		same             bool
	}{
		{"another port", "192.0.2.1:1", "192.0.2.1:2", true},
		{"another address", "192.0.2.1:1", "192.0.2.2:1", false},
		{"IPv4 in IPv6", "192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		{"another host of a /64", "[2001:db8::1]:1", "[2001:db8::ffff:1]:1", true},
		{"another /64", "[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"a zone", "[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
		{"no address at all", "", "@", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if one, other := ClientOf(row.one), ClientOf(row.other); one == other != row.same {
				t.Errorf("%v and %v", one, other)
			}
		})
	}
}

// A client that has used up its limit does not get a new bucket after requests of other clients.
func TestBucketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter[netip.Prefix](Rate{PerSecond: 1, Burst: 2}, Rate{PerSecond: 1e9, Burst: 1e9})
		client := func(i int) netip.Prefix { return ClientOf(fmt.Sprintf("10.%d.%d.1:1", i/256, i%256)) }
		take := func(i int, want bool) {
			t.Helper()
			if err := l.take(client(i)); (err == nil) != want {
				t.Errorf("client %d: %v", i, err)
			}
		}
		for i := range maxBuckets {
			take(i, true)
			take(i, true)
			take(i, false)
		}
		// From here on, new clients share one bucket.
		take(maxBuckets, true)
		take(maxBuckets+1, true)
		take(maxBuckets+2, false)
		take(0, false)
		if got := len(l.byClient); got != maxBuckets || l.order.Len() != got {
			t.Errorf("%d buckets", got)
		}
		time.Sleep(2 * time.Second)
		take(maxBuckets+3, true)
		if _, ok := l.byClient[client(maxBuckets+3)]; !ok || len(l.byClient) != maxBuckets {
			t.Errorf("no bucket was dropped for a new client; %d buckets", len(l.byClient))
		}
	})
}

// If the limit of all clients denies a request, the client's own bucket is not charged.
func TestGlobalLimitDoesNotChargeTheClientBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter[netip.Prefix](Rate{PerSecond: 0.001, Burst: 2}, Rate{PerSecond: 1, Burst: 1})
		one := ClientOf("192.0.2.1:1")
		for i, want := range []bool{true, false, false, false} {
			if err := l.take(one); (err == nil) != want {
				t.Errorf("%d: %v", i, err)
			}
		}
		time.Sleep(time.Second)
		if err := l.take(one); err != nil {
			t.Error(err)
		}
	})
}
