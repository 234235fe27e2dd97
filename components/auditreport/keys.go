// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// setOnce is the rule about labels that a node changes.
const setOnce rules.ID = "NR-LABEL-4"

// keyPhrases are the texts before the list of keys in the messages of node-restriction. A test
// compares them with the rules.
var keyPhrases = map[rules.ID][]string{
	"NR-LABEL-1":      {"is not allowed to set the following labels: "},
	"NR-LABEL-2":      {"is not allowed to modify labels: "},
	setOnce:           {"is not allowed to change or remove labels that its Node has: "},
	"NR-TAINT-1":      {"is not allowed to set the following taints: "},
	"NR-ANNOTATION-1": {"set the following annotations: ", "modify annotations: "},
	"NR-MIRROR-2":     {"lists, and it does not list "},
	"NR-MIRROR-3":     {"must not create mirror pods with the following labels: "},
	"NR-MIRROR-4":     {"must not create mirror pods with the following annotations: "},
}

// andMore is the end of a list that has only the first keys.
var andMore = regexp.MustCompile(` and [0-9]+ more$`)

// keysIn returns the keys of labels, taints or annotations that a message lists. complete is false
// if the message does not have all of them. A text that is not a valid key is left out: the result
// is for a configuration file.
func keysIn(rule rules.ID, reason string) (keys []string, complete bool) {
	phrases := keyPhrases[rule]
	if len(phrases) == 0 {
		return nil, true
	}
	list, found := afterPhrase(reason, phrases)
	if !found {
		return nil, rule == setOnce // this rule has another message too
	}
	list = strings.TrimSuffix(list, " ["+string(rule)+"]")
	all := andMore.ReplaceAllString(list, "")
	complete = all == list
	for key := range strings.SplitSeq(all, ", ") {
		if !isKey(rule, key) {
			complete = false
			continue
		}
		keys = append(keys, key)
	}
	return keys, complete
}

// isKey accepts what the configuration accepts: the prefix of an annotation may have upper case.
func isKey(rule rules.ID, key string) bool {
	if rule == "NR-ANNOTATION-1" || rule == "NR-MIRROR-4" {
		key = strings.ToLower(key)
	}
	return len(validation.IsQualifiedName(key)) == 0
}

func afterPhrase(reason string, phrases []string) (string, bool) {
	for _, phrase := range phrases {
		if at := strings.LastIndex(reason, phrase); at >= 0 {
			return reason[at+len(phrase):], true
		}
	}
	return "", false
}
