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
		{name: "inside", write: status(asItIs, ips("10.1.0.7"))},
		{name: "outside", write: status(asItIs, ips("10.1.1.7")), by: by, says: not(`"10.1.1.7"`)},
		{name: "one of two outside", write: status(asItIs, ips("10.1.0.7", "10.1.1.7")), by: by, says: not(`"10.1.1.7"`)},
		{name: "podIP alone outside",
			write: status(ips("10.1.0.7"), func(p *corev1.Pod) { ips("10.1.0.7")(p); p.Status.PodIP = "10.1.1.7" }), by: by,
			says: not(`"10.1.1.7"`)},
		{name: "another inside later", write: status(ips("10.1.0.7"), ips("10.1.0.8"))},
		{name: "what it had is not asked again", write: status(ips("10.1.1.7"), ips("10.1.1.7", "10.1.0.7"))},
		{name: "none any more", write: status(ips("10.1.0.7"), asItIs)},
		{name: "IPv4 in the dress of IPv6, inside", write: status(asItIs, ips("::ffff:10.1.0.7"))},
		{name: "IPv4 in the dress of IPv6, outside", write: status(asItIs, ips("::ffff:10.1.1.7")), by: by,
			says: not(`"::ffff:10.1.1.7"`)},
		{name: "a leading zero", write: status(asItIs, ips("10.1.0.07")), by: by, says: not(`"10.1.0.07"`)},
		{name: "a zone", write: status(asItIs, ips("2001:db8::7%eth0")), by: by, says: not(`"2001:db8::7%eth0"`)},
		{name: "a prefix", write: status(asItIs, ips("10.1.0.7/32")), by: by, says: not(`"10.1.0.7/32"`)},
		{name: "a long text is cut", write: status(asItIs, ips(strings.Repeat("1", 100000))), by: by,
			says: not(`"` + strings.Repeat("1", 45) + `"`)},
		{name: "many", write: status(asItIs, ips(strings.Split(strings.Repeat("10.1.0.7,", 999)+"10.1.0.7", ",")...)), by: by,
			says: aboutMine + "reports more than 4 IPs for a pod [NR-PODIP-1]"},
		{name: "the node's own", write: status(asItIs, ips("192.0.2.1"))},
		{name: "on the host's network, the node's own",
			write: status(onHost(asItIs), onHost(ips("192.0.2.1", "2001:db8:0::1")))},
		{name: "and not a pod's", write: status(onHost(asItIs), onHost(ips("10.1.0.7"))), by: by, says: not(`"10.1.0.7"`)},
		{name: "a family without podCIDR is not decided", write: status(asItIs, ips("10.1.0.7", "2001:db8:1::7"))},
	})
	run(t, restrict(networked("10.1.0.0/24", "2001:db8:1::/64"), enforce(by)), []row{
		{name: "both inside", write: status(asItIs, ips("10.1.0.7", "2001:db8:1::7"))},
		{name: "the second outside", write: status(asItIs, ips("10.1.0.7", "2001:db8:2::7")), by: by,
			says: not(`"2001:db8:2::7"`)},
	})
	run(t, restrict(networked("nonsense"), enforce(by)), []row{
		{name: "a podCIDR that is none", write: status(asItIs, ips("10.1.0.7"))},
	})
	run(t, restrict(networked(), enforce(by)), []row{
		{name: "no podCIDR", write: status(asItIs, ips("10.1.0.7"))},
		{name: "what is no IP", write: status(asItIs, ips("mine")), by: by, says: not(`"mine"`)},
		{name: "on the host's network, not the node's own", write: status(onHost(asItIs), onHost(ips("10.1.0.7"))), by: by,
			says: not(`"10.1.0.7"`)},
	})
	run(t, restrict(networked("10.1.0.0/24")), []row{{name: "off", write: status(asItIs, ips("10.1.1.7"))}})
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
		row{name: "an IP", write: status(asItIs, ips("10.0.0.1", "2001:db8:1::7"))},
		row{name: "it had it", write: status(ips("127.0.0.1"), ips("127.0.0.1", "10.0.0.1"))},
		row{name: "the node's own", write: status(onHost(asItIs), onHost(ips("192.0.2.1")))},
		row{name: "another Node's", write: status(asItIs, ips("192.0.2.2")), by: by,
			says: says(`"192.0.2.2"`) + `: it is that of node "other" [NR-PODIP-2]`},
		row{name: "another Node's as IPv6", write: status(asItIs, ips("::ffff:192.0.2.2")), by: by,
			says: says(`"::ffff:192.0.2.2"`) + `: it is that of node "other" [NR-PODIP-2]`},
		row{name: "another Node's, written out", write: status(asItIs, ips("10.0.0.1", "2001:db8:0:0::2")), by: by,
			says: says(`"2001:db8:0:0::2"`) + `: it is that of node "other" [NR-PODIP-2]`},
		row{name: "many", write: status(asItIs, ips(strings.Split(strings.Repeat("10.1.0.7,", 999)+"10.1.0.7", ",")...)),
			by: by, says: aboutMine + "reports more than 4 IPs for a pod [NR-PODIP-2]"},
	))
	squatted := networked("10.1.0.0/24")
	squatted.addresses["10.1.0.7"], squatted.addresses["10.1.1.7"] = "other", "other"
	run(t, restrict(squatted, enforce(by)), []row{
		{name: "another Node calls its own what is in this one's podCIDR", write: status(asItIs, ips("10.1.0.7"))},
		{name: "and what is not", write: status(asItIs, ips("10.1.1.7")), by: by,
			says: says(`"10.1.1.7"`) + `: it is that of node "other" [NR-PODIP-2]`},
		{name: "another Node's, where no podCIDR is of its family", write: status(asItIs, ips("2001:db8::2")), by: by,
			says: says(`"2001:db8::2"`) + `: it is that of node "other" [NR-PODIP-2]`},
	})
	delete(squatted.nodes, "me")
	run(t, restrict(squatted, enforce(by)), []row{
		{name: "no Node", write: status(asItIs, ips("10.1.0.7")), by: by, code: 404,
			says: `nodes "me" not found [NR-PODIP-2]`},
	})
	run(t, restrict(networked()), []row{{name: "off", write: status(asItIs, ips("127.0.0.1"))}})
}

func TestHostIPs(t *testing.T) {
	const by = "NR-PODIP-3"
	not := func(ip string) string {
		return aboutMine + "can only report host IPs that are its own, and " + ip + " is not [NR-PODIP-3]"
	}
	run(t, restrict(networked("10.1.0.0/24"), enforce(by)), []row{
		{name: "its own", write: status(asItIs, hostIPs("192.0.2.1", "2001:db8::1"))},
		{name: "another's", write: status(asItIs, hostIPs("192.0.2.2")), by: by, says: not(`"192.0.2.2"`)},
		{name: "another's as the second", write: status(asItIs, hostIPs("192.0.2.1", "192.0.2.2")), by: by,
			says: not(`"192.0.2.2"`)},
		{name: "hostIP alone another's",
			write: status(hostIPs("192.0.2.1"), func(p *corev1.Pod) { hostIPs("192.0.2.1")(p); p.Status.HostIP = "192.0.2.2" }),
			by:    by, says: not(`"192.0.2.2"`)},
		{name: "a pod's", write: status(asItIs, hostIPs("10.1.0.7")), by: by, says: not(`"10.1.0.7"`)},
		{name: "a name", write: status(asItIs, hostIPs("me")), by: by, says: not(`"me"`)},
		{name: "what it had", write: status(hostIPs("192.0.2.9"), hostIPs("192.0.2.9", "192.0.2.1"))},
		{name: "many", write: status(asItIs, hostIPs(strings.Split(strings.Repeat("192.0.2.1,", 999)+"192.0.2.1", ",")...)),
			by: by, says: aboutMine + "reports more than 4 host IPs for a pod [NR-PODIP-3]"},
	})
	run(t, restrict(networked()), []row{{name: "off", write: status(asItIs, hostIPs("192.0.2.2"))}})
}

func TestPodIPsAreDeniedIfTheLookupFails(t *testing.T) {
	failing := networked()
	failing.err = errors.New("timeout")
	noNode := networked()
	delete(noNode.nodes, "me")
	const unknown = "timeout "
	run(t, restrict(failing, enforce("NR-PODIP-1", "NR-PODIP-3")), []row{
		{name: "a pod IP", write: status(asItIs, ips("10.0.0.1")), by: "NR-PODIP-1", code: 500,
			says: unknown + "[NR-PODIP-1]"},
		{name: "a host IP", write: status(asItIs, hostIPs("192.0.2.1")), by: "NR-PODIP-3", code: 500,
			says: unknown + "[NR-PODIP-3]"},
	})
	run(t, restrict(failing, enforce("NR-PODIP-2")), []row{
		{name: "whose it is", write: status(asItIs, ips("10.0.0.1")), by: "NR-PODIP-2", code: 500,
			says: unknown + "[NR-PODIP-2]"},
	})
	run(t, restrict(noNode, enforce("NR-PODIP-1", "NR-PODIP-3")), []row{
		{name: "no Node", write: status(asItIs, ips("10.0.0.1")), by: "NR-PODIP-1", code: 404,
			says: `nodes "me" not found [NR-PODIP-1]`},
		{name: "no Node for a host IP", write: status(asItIs, hostIPs("192.0.2.1")), by: "NR-PODIP-3", code: 404,
			says: `nodes "me" not found [NR-PODIP-3]`},
	})
}
