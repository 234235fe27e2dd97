// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The placeholders in a setting for what a finding does not show.
const (
	anyKey       = "KEY"
	anyNamespace = "NAMESPACE"
	anyAccount   = "NAMESPACE/SERVICEACCOUNT"
)

// SettingOf returns what allows the request of one finding. It is the setting that a [Report] has for
// this finding. Where the finding does not show a key or a namespace, the setting has the word KEY or
// NAMESPACE.
func SettingOf(f Finding) Setting {
	f.sanitize()
	keys, complete := keysIn(f.Rule, f.Reason)
	d := details{keys: keys, incomplete: !complete && len(keys) > 0, account: accountOf(f.User)}
	if len(keys) == 0 && (f.Reason == "" || !complete) {
		d.keys = []string{anyKey}
	}
	if d.account == "" && strings.Contains(f.Reason, "[NS-") {
		d.account = anyAccount // a denial by node scope also names the rule that it applies to the node
	}
	if d.namespaces = []string{anyNamespace}; len(validation.IsDNS1123Label(f.Namespace)) == 0 {
		d.namespaces = []string{f.Namespace}
	}
	rule, _ := rules.Find(allRules, f.Rule)
	return settingFor(keyOf(f), rule, d)
}

// accountOf returns the ServiceAccount of a username, or nothing.
func accountOf(username string) string {
	namespace, name, err := serviceaccount.SplitUsername(username)
	if err != nil {
		return ""
	}
	return namespace + "/" + name
}

// FindingsOf returns the findings that Bulkhead's admission webhooks have written into an event.
func FindingsOf(event *auditv1.Event) []Finding { return annotated(event, findingOf(event)) }
