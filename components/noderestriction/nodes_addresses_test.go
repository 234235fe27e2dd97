// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// reporting sets the kubelet port and the addresses of a Node. Types and addresses alternate.
func reporting(port int32, addresses ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.DaemonEndpoints.KubeletEndpoint.Port = port
		for i := 0; i < len(addresses); i += 2 {
			n.Status.Addresses = append(n.Status.Addresses,
				corev1.NodeAddress{Type: corev1.NodeAddressType(addresses[i]), Address: addresses[i+1]})
		}
	}
}

func remembering(node func(*corev1.Node)) *fakeCluster {
	was := aNode("me", node)
	c := networked()
	c.reported = map[string]Reported{"me": {Addresses: was.Status.Addresses,
		KubeletPort: was.Status.DaemonEndpoints.KubeletEndpoint.Port}}
	return c
}

func TestUnownedAddresses(t *testing.T) {
	const by = "NR-ADDRESS-1"
	says := func(address string) string {
		return notAllowed + fmt.Sprintf("report the address %.253q [NR-ADDRESS-1]", address)
	}
	had := reporting(10250, "InternalIP", "192.0.2.1")
	var rows []row
	for _, address := range []string{
		"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1", "0.0.0.0", "::", "169.254.169.254", "fe80::1",
		"fe80::1%eth0", "192.0.2.1%eth0",
		"224.0.0.1", "ff02::1", "localhost", "LocalHost", "localhost.", "localhost.localdomain", "localhost6", "ip6-loopback",
		"a.localhost",
		"", ".", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0x", "0177.0.0.1", "010.0.0.1", "[::1]", "192.0.2.1:80",
		"192.0.2.1/32", " 192.0.2.1", "a b", "a/b", "me@other", "é", "a\x00b",
		strings.Repeat("a", 254),
	} {
		rows = append(rows,
			row{name: "at creation: " + address, write: making(reporting(0, "InternalIP", address)), by: by,
				says: says(address)},
			row{name: "added: " + address,
				write: changing("status", had, reporting(10250, "InternalIP", "192.0.2.1", "Hostname", address)), by: by,
				says: says(address)},
		)
	}
	for _, address := range []string{"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "me", "ip-10-0-0-1.ec2.internal",
		"3f2a9c1b8d7e", "node_1.0xyz", "localhostess"} {
		rows = append(rows, row{name: address, write: making(reporting(0, "Hostname", address))})
	}
	run(t, restrict(networked(), enforce(by)), append(rows,
		row{name: "address that the Node already has: allowed",
			write: changing("status", reporting(0, "Hostname", "localhost"),
				reporting(0, "Hostname", "localhost", "InternalIP", "192.0.2.1"))},
	))
	run(t, restrict(networked()), []row{{name: "rule off: allowed", write: making(reporting(0, "Hostname", "localhost"))}})
}

func TestAddressesOfOthers(t *testing.T) {
	const by = "NR-ADDRESS-2"
	says := func(address string) string {
		return notAllowed + fmt.Sprintf("report the address %q of another node [NR-ADDRESS-2]", address)
	}
	c := networked()
	c.addresses["other.example.com"] = "other"
	many := make([]string, 0, 20000)
	for i := range 10000 {
		many = append(many, "InternalIP", fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	run(t, restrict(c, enforce(by)), []row{
		{name: "own address: allowed", write: making(reporting(0, "InternalIP", "192.0.2.1", "Hostname", "me"))},
		{name: "unowned address: allowed", write: making(reporting(0, "InternalIP", "192.0.2.3"))},
		{name: "other node's address: denied",
			write: making(reporting(0, "InternalIP", "192.0.2.1", "ExternalIP", "192.0.2.2")), by: by,
			says: says("192.0.2.2")},
		{name: "other node's address, added: denied",
			write: changing("status", unchanged, reporting(0, "InternalIP", "2001:db8::2")), by: by,
			says: says("2001:db8::2")},
		{name: "other node's address, other spelling: denied",
			write: changing("status", unchanged, reporting(0, "Hostname", "::ffff:192.0.2.2")), by: by,
			says: says("::ffff:192.0.2.2")},
		{name: "other node's name: denied",
			write: changing("status", unchanged, reporting(0, "Hostname", "Other.Example.com.")), by: by,
			says: says("Other.Example.com.")},
		{name: "address that the Node already has: allowed",
			write: changing("status", reporting(0, "InternalIP", "192.0.2.2"),
				reporting(0, "InternalIP", "192.0.2.2", "Hostname", "me"))},
		{name: "number of addresses of a kubelet: allowed", write: making(reporting(0, many[:32]...))},
		{name: "too many addresses: denied", write: making(reporting(0, many...)), by: by,
			says: notAllowed + "report more than 16 new addresses [NR-ADDRESS-2]"},
	})
	run(t, restrict(c), []row{{name: "rule off: allowed", write: making(reporting(0, "InternalIP", "192.0.2.2"))}})
}

func TestAddressesStay(t *testing.T) {
	const by = "NR-ADDRESS-3"
	says := func(address string) string {
		return notAllowed + fmt.Sprintf("report the address %s: it had others [NR-ADDRESS-3]", address)
	}
	const none = notAllowed + "report no address any more [NR-ADDRESS-3]"
	had := reporting(0, "InternalIP", "192.0.2.1", "InternalIP", "2001:db8::1", "Hostname", "node-1")
	rows := func(change func(func(*corev1.Node)) row) []row {
		tell := func(name string, now func(*corev1.Node), says string) row {
			r := change(now)
			if r.name = name; says != "" {
				r.by, r.says = by, says
			}
			return r
		}
		return []row{
			tell("the same", had, ""),
			tell("in another order", reporting(0, "Hostname", "node-1", "InternalIP", "2001:db8::1", "InternalIP", "192.0.2.1"),
				""),
			tell("in another spelling", reporting(0, "Hostname", "Node-1", "InternalIP", "::ffff:192.0.2.1"), ""),
			tell("one of them", reporting(0, "InternalIP", "192.0.2.1"), ""),
			tell("its name as its host name", reporting(0, "InternalIP", "192.0.2.1", "Hostname", "me"), ""),
			tell("its name as another thing", reporting(0, "InternalIP", "192.0.2.1", "InternalDNS", "me"),
				says(`"me" (InternalDNS)`)),
			tell("none", unchanged, none),
			tell("another", reporting(0, "InternalIP", "192.0.2.3", "Hostname", "node-1"), says(`"192.0.2.3" (InternalIP)`)),
			tell("one more", reporting(0, "InternalIP", "192.0.2.1", "ExternalIP", "198.51.100.1"),
				says(`"198.51.100.1" (ExternalIP)`)),
			tell("another host name", reporting(0, "InternalIP", "192.0.2.1", "Hostname", "node-2"),
				says(`"node-2" (Hostname)`)),
			tell("one of them as another type", reporting(0, "ExternalIP", "192.0.2.1"), says(`"192.0.2.1" (ExternalIP)`)),
			tell("a long type is cut", reporting(0, strings.Repeat("x", 1000), "192.0.2.1"),
				says(`"192.0.2.1" (`+strings.Repeat("x", 40)+`)`)),
		}
	}
	run(t, restrict(networked(), enforce(by)),
		rows(func(now func(*corev1.Node)) row { return row{write: changing("status", had, now)} }))
	run(t, restrict(remembering(had), enforce(by)),
		rows(func(now func(*corev1.Node)) row { return row{write: making(now)} }))
	run(t, restrict(remembering(had), enforce(by)), []row{
		{name: "Node without addresses, other than recorded: denied",
			write: changing("status", unchanged, reporting(0, "InternalIP", "192.0.2.3")), by: by,
			says: says(`"192.0.2.3" (InternalIP)`)},
		{name: "Node without addresses, recorded ones again: allowed", write: changing("status", unchanged, had)},
		{name: "recorded address, Node has another one: denied",
			write: changing("status", reporting(0, "InternalIP", "192.0.2.3"), reporting(0, "InternalIP", "192.0.2.1")), by: by,
			says: says(`"192.0.2.1" (InternalIP)`)},
	})
	run(t, restrict(networked(), enforce(by)), []row{
		{name: "first addresses at creation: allowed", write: making(had)},
		{name: "first addresses in a later status: allowed", write: changing("status", unchanged, had)},
		{name: "no addresses: allowed", write: making(unchanged)},
	})
	run(t, restrict(remembering(had)), []row{{name: "rule off: allowed",
		write: making(reporting(0, "InternalIP", "192.0.2.3"))}})
}

// A machine that joins under the name of a deleted Node has a certificate that a bootstrapper
// requested after that Node was created. A node with an old certificate does not.
func TestMachineThatJoinedUnderTheNameOfADeletedNode(t *testing.T) {
	had := reporting(10250, "InternalIP", "192.0.2.1")
	other := reporting(10251, "InternalIP", "192.0.2.3")
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	joined := func(at time.Time) *fakeCluster {
		c := remembering(had)
		last := c.reported["me"]
		last.Created, last.PortCreated = created, created
		c.reported["me"], c.joined = last, map[string]time.Time{"me": at, "other": created.Add(time.Hour)}
		return c
	}
	const address, port = `report the address "192.0.2.3" (InternalIP): it had others [NR-ADDRESS-3]`,
		"change the port of its kubelet from 10250 to 10251 [NR-ADDRESS-4]"
	for by, says := range map[rules.ID]string{"NR-ADDRESS-3": notAllowed + address, "NR-ADDRESS-4": notAllowed + port} {
		run(t, restrict(joined(created.Add(time.Second)), enforce(by)), []row{
			{name: "joined after the deleted Node was created: allowed", write: making(other)},
			{name: "joined, and the Node has no status yet: allowed", write: changing("status", unchanged, other)},
			{name: "joined, and the Node has a status: denied", write: changing("status", had, other), by: by, says: says},
		})
		run(t, restrict(joined(created), enforce(by)), []row{
			{name: "joined before the deleted Node was created: denied", write: making(other), by: by, says: says},
		})
		run(t, restrict(joined(time.Time{}), enforce(by)), []row{
			{name: "not joined: denied", write: making(other), by: by, says: says},
			{name: "not joined, the same as before: allowed", write: making(had)},
		})
		unknown := joined(created.Add(time.Second))
		last := unknown.reported["me"]
		last.Created, last.PortCreated = time.Time{}, time.Time{}
		unknown.reported["me"] = last
		run(t, restrict(unknown, enforce(by)), []row{
			{name: "creation of the deleted Node unknown: denied", write: making(other), by: by, says: says},
		})
		failing := joined(created.Add(time.Second))
		failing.joinedErr = errors.New("no answer")
		run(t, restrict(failing, enforce(by)), []row{
			{name: "failed lookup: error", write: making(other), by: by, code: 500, says: "no answer [" + string(by) + "]"},
			{name: "failed lookup that is not needed: allowed", write: making(had)},
		})
	}
}

func TestKubeletPortStays(t *testing.T) {
	const by = "NR-ADDRESS-4"
	says := func(port int) string {
		return notAllowed + fmt.Sprintf("change the port of its kubelet from 10250 to %d [NR-ADDRESS-4]", port)
	}
	run(t, restrict(networked(), enforce(by)), []row{
		{name: "first port at creation: allowed", write: making(reporting(10250))},
		{name: "first port in a later status: allowed", write: changing("status", unchanged, reporting(10250))},
		{name: "same port: allowed", write: changing("status", reporting(10250), reporting(10250))},
		{name: "other port: denied", write: changing("status", reporting(10250), reporting(6443)), by: by, says: says(6443)},
		{name: "no port: denied", write: changing("status", reporting(10250), reporting(0)), by: by, says: says(0)},
	})
	run(t, restrict(remembering(reporting(10250)), enforce(by)), []row{
		{name: "recorded port again: allowed", write: making(reporting(10250))},
		{name: "other than the recorded port: denied", write: making(reporting(6443)), by: by, says: says(6443)},
		{name: "no port after a recorded one: denied", write: making(reporting(0)), by: by, says: says(0)},
		{name: "Node without a port, other than recorded: denied",
			write: changing("status", unchanged, reporting(6443)), by: by,
			says: says(6443)},
	})
	run(t, restrict(networked()), []row{{name: "rule off: allowed",
		write: changing("status", reporting(10250), reporting(6443))}})
}

func TestAddressesAreDeniedIfTheLookupFails(t *testing.T) {
	failing := networked()
	failing.err = errors.New("timeout")
	for _, by := range []rules.ID{"NR-ADDRESS-2", "NR-ADDRESS-3", "NR-ADDRESS-4"} {
		run(t, restrict(failing, enforce(by)), []row{
			{name: string(by), write: making(reporting(10250, "InternalIP", "192.0.2.1")), by: by, code: 500,
				says: "timeout [" + string(by) + "]"},
		})
	}
}

func TestAddressOfService(t *testing.T) {
	const by = "NR-ADDRESS-5"
	says := func(address string) string {
		return notAllowed + `report the address "` + address + `" of Service default/kubernetes [NR-ADDRESS-5]`
	}
	c := networked()
	c.services = map[string]string{"10.96.0.1": "Service default/kubernetes", "2001:db8::96": "Service default/kubernetes"}
	had := reporting(10250, "InternalIP", "10.96.0.1")
	run(t, restrict(c, enforce(by)), []row{
		{name: "address that no Service has: admitted", write: making(reporting(0, "InternalIP", "10.96.0.2"))},
		{name: "cluster IP at creation: denied", write: making(reporting(0, "InternalIP", "10.96.0.1")), by: by,
			says: says("10.96.0.1")},
		{name: "cluster IP in another spelling: denied", write: making(reporting(0, "ExternalIP", "2001:db8:0::96")), by: by,
			says: says("2001:db8::96")},
		{name: "cluster IP added later: denied",
			write: changing("status", reporting(0, "Hostname", "me"), reporting(0, "Hostname", "me", "InternalIP", "10.96.0.1")),
			by:    by, says: says("10.96.0.1")},
		{name: "name: admitted", write: making(reporting(0, "Hostname", "me"))},
		{name: "cluster IP that it has already: admitted",
			write: changing("status", had, reporting(10250, "InternalIP", "10.96.0.1", "Hostname", "me"))},
	})
	run(t, restrict(c), []row{{name: "rule off, cluster IP: admitted", write: making(had)}})
	auditedOnly(t, restrict(c, inMode(rules.Audit, by)), making(had), by)
}
