// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

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
