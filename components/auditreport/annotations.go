// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// auditedRules is the annotation with the rules of all findings, in their order.
const auditedRules = "/audited-rules"

// annotated returns the findings that admission webhooks of Bulkhead have reported.
func annotated(event *auditv1.Event, base Finding) []Finding {
	var findings []Finding
	for _, key := range slices.Sorted(maps.Keys(event.Annotations)) {
		webhook, ok := strings.CutSuffix(key, wouldRefuse)
		if !ok || !strings.HasSuffix(webhook, ".bulkhead.dev") {
			continue
		}
		for _, refusal := range splitRefusals(event.Annotations[key], event.Annotations[webhook+auditedRules]) {
			f := base
			f.Rule, f.Reason = refusal.Rule, refusal.Message
			findings = append(findings, f)
		}
	}
	return findings
}

// endOfFinding is the rule at the end of each text of an annotation.
var endOfFinding = regexp.MustCompile(` ?\[([A-Z]{2}-[A-Z0-9-]{1,64})\](; |$)`)

// splitRefusals returns the findings in an annotation. A long annotation is cut: then the last text
// has the rule of the last finding, but may be the text of another one. The list of rules says which.
func splitRefusals(text, list string) []rules.Finding {
	ids := splitList(list)
	var findings []rules.Finding
	from := 0
	for _, at := range endOfFinding.FindAllStringSubmatchIndex(text, maxFindings) {
		message, id := text[from:at[0]], text[at[2]:at[3]]
		from = at[1]
		if cut := strings.HasSuffix(message, "…"); cut && len(findings) < len(ids) {
			id = ids[len(findings)]
		}
		findings = append(findings, rules.Finding{Rule: rules.ID(id), Message: message})
	}
	for len(findings) < len(ids) {
		findings = append(findings, rules.Finding{Rule: rules.ID(ids[len(findings)])})
	}
	return findings
}

// splitList leaves out what may be cut.
func splitList(list string) []string {
	if list == "" {
		return nil
	}
	ids := strings.Split(list, ",")
	ids = slices.DeleteFunc(ids, func(id string) bool { return !ruleID.MatchString(id) })
	return ids[:min(len(ids), maxFindings)]
}

// failureMessage returns the message in the annotation of a ValidatingAdmissionPolicy.
func failureMessage(annotation string) string {
	var failures []struct{ Message, Policy string }
	if err := json.Unmarshal([]byte(annotation), &failures); err != nil {
		return ""
	}
	for _, failure := range failures {
		if strings.HasPrefix(failure.Policy, "kubelet-api.bulkhead.") {
			return failure.Message
		}
	}
	return ""
}
