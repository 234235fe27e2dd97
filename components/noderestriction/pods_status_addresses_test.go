// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func ips(all ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.PodIP = all[0]
		for _, ip := range all {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

func hostIPs(all ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.HostIP = all[0]
		for _, ip := range all {
			p.Status.HostIPs = append(p.Status.HostIPs, corev1.HostIP{IP: ip})
		}
	}
}

func onHost(edit func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.HostNetwork = true; edit(p) }
}

// networked gives the node me the podCIDRs, and gives addresses to the nodes me and other.
func networked(podCIDRs ...string) *fakeCluster {
	c := aCluster()
	c.nodes["me"] = aNode("me", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::1"},
			{Type: corev1.NodeHostName, Address: "me"},
		}
		if n.Spec.PodCIDRs = podCIDRs; len(podCIDRs) > 0 {
			n.Spec.PodCIDR = podCIDRs[0]
		}
	})
	c.addresses = map[string]string{"192.0.2.1": "me", "2001:db8::1": "me", "192.0.2.2": "other", "2001:db8::2": "other"}
	return c
}

func TestPodIPsInside(t *testing.T) {
	not := func(ip string) string {
		return aboutMine + "can only report IPs of pods that are inside its podCIDRs or its own, and " + ip +
			" is not [NR-PODIP-1]"
	}
	const by = "NR-PODIP-1"
	run(t, restrict(networked("10.1.0.0/24"), enforce(by)), []row{
		{name: "IP inside podCIDR: allowed", write: status(asItIs, ips("10.1.0.7"))},
		{name: "IP outside podCIDR: denied", write: status(asItIs, ips("10.1.1.7")), by: by, says: not(`"10.1.1.7"`)},
		{name: "one of two IPs outside podCIDR: denied",
			write: status(asItIs, ips("10.1.0.7", "10.1.1.7")), by: by, says: not(`"10.1.1.7"`)},
		{name: "podIP outside podCIDR: denied",
			write: status(ips("10.1.0.7"), func(p *corev1.Pod) { ips("10.1.0.7")(p); p.Status.PodIP = "10.1.1.7" }), by: by,
			says: not(`"10.1.1.7"`)},
		{name: "other IP inside podCIDR later: allowed", write: status(ips("10.1.0.7"), ips("10.1.0.8"))},
		{name: "IP that the pod already has: allowed", write: status(ips("10.1.1.7"), ips("10.1.1.7", "10.1.0.7"))},
		{name: "IPs removed: allowed", write: status(ips("10.1.0.7"), asItIs)},
		{name: "IPv4-mapped IPv6 inside podCIDR: allowed", write: status(asItIs, ips("::ffff:10.1.0.7"))},
		{name: "IPv4-mapped IPv6 outside podCIDR: denied", write: status(asItIs, ips("::ffff:10.1.1.7")), by: by,
			says: not(`"::ffff:10.1.1.7"`)},
		{name: "IP with a leading zero: denied", write: status(asItIs, ips("10.1.0.07")), by: by, says: not(`"10.1.0.07"`)},
		{name: "IP with a zone: denied",
			write: status(asItIs, ips("2001:db8::7%eth0")), by: by, says: not(`"2001:db8::7%eth0"`)},
		{name: "IP with a prefix length: denied",
			write: status(asItIs, ips("10.1.0.7/32")), by: by, says: not(`"10.1.0.7/32"`)},
		{name: "long invalid IP: denied, message shortened", write: status(asItIs, ips(strings.Repeat("1", 100000))), by: by,
			says: not(`"` + strings.Repeat("1", 45) + `"`)},
		{name: "too many IPs: denied",
			write: status(asItIs, ips(strings.Split(strings.Repeat("10.1.0.7,", 999)+"10.1.0.7", ",")...)), by: by,
			says: aboutMine + "reports more than 4 IPs for a pod [NR-PODIP-1]"},
		{name: "node's own IP: allowed", write: status(asItIs, ips("192.0.2.1"))},
		{name: "host network, node's own IP: allowed",
			write: status(onHost(asItIs), onHost(ips("192.0.2.1", "2001:db8:0::1")))},
		{name: "host network, pod IP: denied",
			write: status(onHost(asItIs), onHost(ips("10.1.0.7"))), by: by, says: not(`"10.1.0.7"`)},
		{name: "IP family without podCIDR: allowed", write: status(asItIs, ips("10.1.0.7", "2001:db8:1::7"))},
	})
	run(t, restrict(networked("10.1.0.0/24", "2001:db8:1::/64"), enforce(by)), []row{
		{name: "both IPs inside podCIDRs: allowed", write: status(asItIs, ips("10.1.0.7", "2001:db8:1::7"))},
		{name: "second IP outside podCIDRs: denied", write: status(asItIs, ips("10.1.0.7", "2001:db8:2::7")), by: by,
			says: not(`"2001:db8:2::7"`)},
	})
	run(t, restrict(networked("nonsense"), enforce(by)), []row{
		{name: "invalid podCIDR: allowed", write: status(asItIs, ips("10.1.0.7"))},
	})
	run(t, restrict(networked(), enforce(by)), []row{
		{name: "no podCIDR: allowed", write: status(asItIs, ips("10.1.0.7"))},
		{name: "no podCIDR, invalid IP: denied", write: status(asItIs, ips("mine")), by: by, says: not(`"mine"`)},
		{name: "no podCIDR, host network, other IP: denied", write: status(onHost(asItIs), onHost(ips("10.1.0.7"))), by: by,
			says: not(`"10.1.0.7"`)},
	})
	run(t, restrict(networked("10.1.0.0/24")), []row{{name: "rule off: allowed", write: status(asItIs, ips("10.1.1.7"))}})
}

func TestUnownedPodIPs(t *testing.T) {
	const by = "NR-PODIP-2"
	says := func(ip string) string { return aboutMine + "cannot report " + ip + " as the IP of a pod" }
	var rows []row
	for _, ip := range []string{
		"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "::ffff:0.0.0.0", "169.254.169.254", "fe80::1",
		"224.0.0.1", "ff02::1", "localhost", "127.1", "0x7f000001", "010.0.0.1", " 10.0.0.1", "[::1]", "10.0.0.1%eth0",
	} {
		rows = append(rows, row{name: ip, write: status(asItIs, ips(ip)), by: by, says: says(`"`+ip+`"`) + " [NR-PODIP-2]"})
	}
	run(t, restrict(networked(), enforce(by)), append(rows,
		row{name: "unowned IP: allowed", write: status(asItIs, ips("10.0.0.1", "2001:db8:1::7"))},
		row{name: "IP that the pod already has: allowed", write: status(ips("127.0.0.1"), ips("127.0.0.1", "10.0.0.1"))},
		row{name: "host network, node's own IP: allowed", write: status(onHost(asItIs), onHost(ips("192.0.2.1")))},
		row{name: "other Node's IP: denied", write: status(asItIs, ips("192.0.2.2")), by: by,
			says: says(`"192.0.2.2"`) + `: it is that of another node [NR-PODIP-2]`},
		row{name: "other Node's IP, IPv4-mapped: denied", write: status(asItIs, ips("::ffff:192.0.2.2")), by: by,
			says: says(`"::ffff:192.0.2.2"`) + `: it is that of another node [NR-PODIP-2]`},
		row{name: "other Node's IP, long form: denied", write: status(asItIs, ips("10.0.0.1", "2001:db8:0:0::2")), by: by,
			says: says(`"2001:db8:0:0::2"`) + `: it is that of another node [NR-PODIP-2]`},
		row{name: "too many IPs: denied",
			write: status(asItIs, ips(strings.Split(strings.Repeat("10.1.0.7,", 999)+"10.1.0.7", ",")...)),
			by:    by, says: aboutMine + "reports more than 4 IPs for a pod [NR-PODIP-2]"},
	))
	squatted := networked("10.1.0.0/24")
	squatted.addresses["10.1.0.7"], squatted.addresses["10.1.1.7"] = "other", "other"
	run(t, restrict(squatted, enforce(by)), []row{
		{name: "other Node's address inside own podCIDR: allowed", write: status(asItIs, ips("10.1.0.7"))},
		{name: "other Node's address outside own podCIDR: denied", write: status(asItIs, ips("10.1.1.7")), by: by,
			says: says(`"10.1.1.7"`) + `: it is that of another node [NR-PODIP-2]`},
		{name: "other Node's IP, no podCIDR of its family: denied", write: status(asItIs, ips("2001:db8::2")), by: by,
			says: says(`"2001:db8::2"`) + `: it is that of another node [NR-PODIP-2]`},
	})
	delete(squatted.nodes, "me")
	run(t, restrict(squatted, enforce(by)), []row{
		{name: "no Node: denied", write: status(asItIs, ips("10.1.0.7")), by: by, code: 404,
			says: `nodes "me" not found [NR-PODIP-2]`},
	})
	run(t, restrict(networked()), []row{{name: "rule off: allowed", write: status(asItIs, ips("127.0.0.1"))}})
}

func TestHostIPs(t *testing.T) {
	const by = "NR-PODIP-3"
	not := func(ip string) string {
		return aboutMine + "can only report host IPs that are its own, and " + ip + " is not [NR-PODIP-3]"
	}
	run(t, restrict(networked("10.1.0.0/24"), enforce(by)), []row{
		{name: "own hostIP: allowed", write: status(asItIs, hostIPs("192.0.2.1", "2001:db8::1"))},
		{name: "other node's hostIP: denied", write: status(asItIs, hostIPs("192.0.2.2")), by: by, says: not(`"192.0.2.2"`)},
		{name: "other node's IP as second hostIP: denied", write: status(asItIs, hostIPs("192.0.2.1", "192.0.2.2")), by: by,
			says: not(`"192.0.2.2"`)},
		{name: "only hostIP of another node: denied",
			write: status(hostIPs("192.0.2.1"), func(p *corev1.Pod) { hostIPs("192.0.2.1")(p); p.Status.HostIP = "192.0.2.2" }),
			by:    by, says: not(`"192.0.2.2"`)},
		{name: "pod IP as hostIP: denied", write: status(asItIs, hostIPs("10.1.0.7")), by: by, says: not(`"10.1.0.7"`)},
		{name: "name as hostIP: denied", write: status(asItIs, hostIPs("me")), by: by, says: not(`"me"`)},
		{name: "hostIP that the pod already has: allowed",
			write: status(hostIPs("192.0.2.9"), hostIPs("192.0.2.9", "192.0.2.1"))},
		{name: "too many hostIPs: denied",
			write: status(asItIs, hostIPs(strings.Split(strings.Repeat("192.0.2.1,", 999)+"192.0.2.1", ",")...)),
			by:    by, says: aboutMine + "reports more than 4 host IPs for a pod [NR-PODIP-3]"},
	})
	run(t, restrict(networked()), []row{{name: "rule off: allowed", write: status(asItIs, hostIPs("192.0.2.2"))}})
}

func TestPodIPsAreDeniedIfTheLookupFails(t *testing.T) {
	failing := networked()
	failing.err = errors.New("timeout")
	noNode := networked()
	delete(noNode.nodes, "me")
	const unknown = "timeout "
	run(t, restrict(failing, enforce("NR-PODIP-1", "NR-PODIP-3")), []row{
		{name: "failed lookup, pod IP: denied", write: status(asItIs, ips("10.0.0.1")), by: "NR-PODIP-1", code: 500,
			says: unknown + "[NR-PODIP-1]"},
		{name: "failed lookup, host IP: denied", write: status(asItIs, hostIPs("192.0.2.1")), by: "NR-PODIP-3", code: 500,
			says: unknown + "[NR-PODIP-3]"},
	})
	run(t, restrict(failing, enforce("NR-PODIP-2")), []row{
		{name: "failed lookup of the address owner: denied",
			write: status(asItIs, ips("10.0.0.1")), by: "NR-PODIP-2", code: 500,
			says: unknown + "[NR-PODIP-2]"},
	})
	run(t, restrict(noNode, enforce("NR-PODIP-1", "NR-PODIP-3")), []row{
		{name: "Node not found, pod IP: denied", write: status(asItIs, ips("10.0.0.1")), by: "NR-PODIP-1", code: 404,
			says: `nodes "me" not found [NR-PODIP-1]`},
		{name: "Node not found, host IP: denied", write: status(asItIs, hostIPs("192.0.2.1")), by: "NR-PODIP-3", code: 404,
			says: `nodes "me" not found [NR-PODIP-3]`},
	})
}
