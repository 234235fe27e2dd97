// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// attempts are what is asked about, by verb. They are made once, so that no request
// has to allocate its own.
type attempts [verbCount][]Attributes

func ask(subresources ...string) attempts {
	var table attempts
	for v, name := range verbNames {
		for _, subresource := range subresources {
			table[v] = append(table[v], Attributes{Verb: name, Subresource: subresource})
		}
	}
	return table
}

// askOrGet adds one subresource that will do too, for verb get alone.
func askOrGet(subresource, orGet string) attempts {
	table := ask(subresource)
	table[verbGet] = append(table[verbGet], Attributes{Verb: verbNames[verbGet], Subresource: orGet})
	return table
}

// endpoint is everything of the kubelet's API below one first segment of a path.
type endpoint struct {
	// rule is that of the kubelet's own mapping.
	rule   rules.ID
	compat attempts
	// beyond is the rule that takes the place of rule in Strict; empty if none does.
	beyond rules.ID
	strict attempts
	// create: in Strict it is verb create that counts, whatever the method.
	create bool
	// streams: an answer can last without an upgrade.
	streams bool
	// target finds what the rest of a path names. It may be nil.
	target func(rest string) Target
}

// classic is an endpoint for which the kubelet has a subresource.
func classic(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: rule, compat: ask(subresource), strict: ask(subresource)}
}

// fineGrained is an endpoint whose subresource is younger than the endpoint
// (KEP-2862), so that nodes/proxy will do as well. Those who were granted that read
// these; Strict spares their reads and nothing else.
func fineGrained(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: rule, compat: ask(subresource, SubresourceProxy),
		strict: askOrGet(subresource, SubresourceProxy)}
}

// beyond is an endpoint for which the kubelet has nothing but nodes/proxy.
func beyond(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: RuleProxy, compat: ask(SubresourceProxy), beyond: rule, strict: ask(subresource)}
}

// process is an endpoint that runs or joins a process, or reaches its ports.
func process(rule rules.ID, subresource string, target func(string) Target) endpoint {
	e := beyond(rule, subresource)
	e.create, e.streams, e.target = true, true, target
	return e
}

func (e endpoint) naming(target func(string) Target) endpoint {
	e.target = target
	return e
}

// allocated is an endpoint that is younger than its subresource: nobody was granted
// nodes/proxy to read it.
func allocated() endpoint {
	e := fineGrained(RulePods, SubresourcePods).naming(podTarget)
	e.strict = ask(SubresourcePods)
	return e
}

func containerLogs() endpoint {
	e := beyond(RuleContainerLogs, SubresourceContainerLogs).naming(containerTarget)
	e.streams = true
	return e
}

// unknownPath could be anything in a kubelet that is newer than this, a stream that
// execs included.
func unknownPath() endpoint {
	e := beyond(RuleUnknown, SubresourceUnknown)
	e.create = true
	return e
}
