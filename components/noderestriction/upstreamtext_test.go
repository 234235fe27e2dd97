// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestTextsOfOtherVersionsAndPlainErrors has the texts of upstream that no table of this package has:
// those of Kubernetes 1.36, and those that the plugin returns as a plain error, which the API server
// sends as an internal error. checkUpstreamText compares all other texts.
func TestTextsOfOtherVersionsAndPlainErrors(t *testing.T) {
	const internal = "Internal error occurred: "
	for _, row := range []struct {
		message string
		want    rules.ID
	}{
		{`serviceaccounts "s" is forbidden: audience "a" not found in pod spec volume, system:node:n is not authorized to ` +
			`request tokens for this audience`, "NR-SA-4"},
		{internal + `while retrieving node "n" named in the PodCertificateRequest: node "n" not found`, "NR-PCR-2"},
		{internal + `PodCertificateRequest for pod "d/p" names node UID "1", inconsistent with the running node ("2")`,
			"NR-PCR-2"},
		{internal + `while retrieving pod "d/p" named in the PodCertificateRequest: pod "p" not found`, "NR-PCR-3"},
		{internal + `PodCertificateRequest for pod "d/p" contains pod UID ("1") which differs from running pod "2"`,
			"NR-PCR-3"},
		{internal + `while retrieving service account "d/s" named in the PodCertificateRequest: not found`, "NR-PCR-4"},
		{internal + `PodCertificateRequest for pod "d/p" names service account UID "1", which differs from the running ` +
			`service account ("2")`, "NR-PCR-4"},
		{internal + `PodCertificateRequest for pod "d/p" is not valid`, ""},
		{`PodCertificateRequest for pod "d/p" names service account`, ""},
	} {
		var all []rules.ID
		for _, u := range upstreamTexts {
			if u.message.MatchString(row.message) && !slices.Contains(all, u.rule.ID) {
				all = append(all, u.rule.ID)
			}
		}
		if got := RuleOfUpstream(row.message); got != row.want || len(all) > 1 {
			t.Errorf("got %q (all that match: %v), want %q:\n  %s", got, all, row.want, row.message)
		}
	}
}
