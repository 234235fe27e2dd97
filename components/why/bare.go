// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"iter"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// nodeInText and otherInText are the names in the texts of the in-tree Node authorizer.
var (
	nodeInText  = regexp.MustCompile(`node '([^']{1,253})'`)
	otherInText = regexp.MustCompile(`cannot read '([^']{1,253})'`)
)

// sample has one resource for each set of rules of the in-tree Node authorizer.
var sample = []struct{ group, resource string }{
	{"", "secrets"}, {"", "configmaps"}, {"", "serviceaccounts"}, {"", "persistentvolumeclaims"},
	{"", "persistentvolumes"}, {"", "pods"}, {"", "nodes"}, {"coordination.k8s.io", "leases"},
	{"storage.k8s.io", "csinodes"}, {"storage.k8s.io", "volumeattachments"}, {"resource.k8s.io", "resourceclaims"},
	{"resource.k8s.io", "resourceslices"}, {"certificates.k8s.io", "podcertificaterequests"},
}

// rareTexts are texts of the in-tree Node authorizer that no sample has: that of a user without a node
// name, and one that no request gets, because its caller checks the same before.
var rareTexts = map[rules.ID]*regexp.Regexp{
	"NA-IDENT-1": regexp.MustCompile(`^unknown node for user "(?:[^"\\]|\\.)*"$`),
	"NA-PVC-2":   regexp.MustCompile(`^can only update status subresource$`),
}

// inTreeRules returns the rules that decide with this text, for a text without a request. The same
// text can be that of several rules.
func inTreeRules(text string) []rules.ID {
	for id, rare := range rareTexts {
		if rare.MatchString(onOneLine(text)) {
			return []rules.ID{id}
		}
	}
	node, other := "n", "o"
	if found := nodeInText.FindStringSubmatch(text); found != nil {
		node = found[1]
	}
	if found := otherInText.FindStringSubmatch(text); found != nil {
		other = found[1]
	}
	var ids []rules.ID
	for r := range samples(node, other) {
		if id, said := inTreeRule(&r, text); said && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// samples yields requests of a node, of all kinds.
func samples(node, other string) iter.Seq[Request] {
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "other"}
	subresources := []string{"", "status", "token", "eviction"}
	objects := [][2]string{{"", ""}, {"", other}, {"default", ""}, {"default", other}, {"kube-node-lease", other}}
	return func(yield func(Request) bool) {
		for i := range len(sample) * len(verbs) * len(subresources) * len(objects) {
			object, rest := objects[i%len(objects)], i/len(objects)
			subresource, rest := subresources[rest%len(subresources)], rest/len(subresources)
			verb, of := verbs[rest%len(verbs)], sample[rest/len(verbs)]
			if !yield(Request{User: nodeidentity.Prefix + node, Groups: []string{user.NodesGroup}, Verb: verb, Group: of.group,
				Resource: of.resource, Subresource: subresource, Namespace: object[0], Name: object[1]}) {
				return
			}
		}
	}
}

// anyRelation is what must exist, if the object is not known.
const anyRelation = "A pod that uses the object must be bound to the node, or the object must name the node."

// relationRules are the rules about the relation of an object to a node.
var relationRules = sync.OnceValue(func() []rules.ID {
	return inTreeRules("no relationship found between node 'n' and this object")
})

// bare explains a text of the in-tree Node authorizer without a request. It returns false for another
// text.
func (a *Answer) bare(text string) bool {
	if len(text) > maxText {
		return false
	}
	ids := inTreeRules(text)
	if len(ids) == 0 {
		return false
	}
	a.Step, a.By = Authorization, inTreeNode+likeThisRule
	if len(ids) > 1 {
		a.note("The text is that of several rules. Give the whole message, with the user and the resource.")
	}
	a.addRules(ids)
	if relationMissing(ids, text) {
		a.Options = append(a.Options, Option{Text: anyRelation})
		return true
	}
	for _, id := range ids {
		options := optionsOf(id, nil, text)
		if len(ids) > 1 {
			options = prefixed(string(id)+": ", options)
		}
		a.Options = append(a.Options, options...)
	}
	return true
}
