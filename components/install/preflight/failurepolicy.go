// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

// failurePolicyFindings warns about a failure policy with which an outage of node-restriction switches
// its rules off. An installation that only audits denies nothing, so it has no finding.
func failurePolicyFindings(in Input) []Finding {
	const check = "failure policy of node-restriction"
	switch {
	case in.AuditOnly:
		return nil
	case !in.IgnoreFailures:
		return []Finding{{OK, check, "Fail: while node-restriction is unavailable, the writes of nodes that it checks are " +
			"denied"}}
	case in.Profile != "hardened":
		return []Finding{{Fail, check, "Ignore: only in hardened does in-tree NodeRestriction check the writes of nodes " +
			"while node-restriction is unavailable. Set --node-restriction-failure-policy=Fail"}}
	}
	return []Finding{{Warn, check, "Ignore: while node-restriction is unavailable or too slow, only in-tree " +
		"NodeRestriction checks the writes of nodes. The rules that Kubernetes does not have are not enforced then. A " +
		"compromised node can try to overload node-restriction for that. Alert on " +
		"apiserver_admission_webhook_fail_open_count"}}
}
