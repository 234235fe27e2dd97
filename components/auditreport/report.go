// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The bounds of a report. A client can invent users, keys and requests.
const (
	maxGroups = 1000
	maxKeys   = 200
	// maxUsers bounds the users of one entry, maxAllUsers those of all entries together.
	maxUsers    = 10_000
	maxAllUsers = 100_000
	// shownUsers is how many users an entry names.
	shownUsers = 5
	// maxCount is far below where a sum of two overflows. Floats, which metrics are, are exact up to it.
	maxCount = 1 << 53
)

// Report collects findings. It is not safe for concurrent use. The zero value is ready to use.
type Report struct {
	groups  map[groupKey]*group
	users   int
	omitted int64
}

// groupKey is what one entry is about. binding and request are set only for a request that RBAC
// allows to a node.
type groupKey struct {
	rule             rules.ID
	binding, request string
	possible         bool
}

type group struct {
	count            int64
	users            map[string]bool
	first            []string
	manyUsers        bool
	example          *Example
	keys, namespaces map[string]bool
	nodes            map[string]bool
	incomplete       bool
}

// Add adds a finding.
func (r *Report) Add(f Finding) {
	f.sanitize()
	if f.Rule != StaleToken && !ruleID.MatchString(string(f.Rule)) {
		r.omitted = min(r.omitted+f.Count, maxCount)
		return
	}
	g := r.group(keyOf(f))
	if g == nil {
		r.omitted = min(r.omitted+f.Count, maxCount)
		return
	}
	g.count = min(g.count+f.Count, maxCount)
	r.addUser(g, f.User)
	if f.Node != "" {
		addBounded(g.nodes, f.Node, maxKeys)
	}
	if g.example == nil && f.Verb != "" {
		g.example = &Example{User: f.User, Verb: f.Verb, Resource: f.Resource, Namespace: f.Namespace, Name: f.Name,
			Reason: f.Reason}
	}
	keys, complete := keysIn(f.Rule, f.Reason)
	g.addKeys(keys, complete)
	// An administrator copies the names into a command, so they must be valid.
	if len(validation.IsDNS1123Label(f.Namespace)) == 0 {
		addBounded(g.namespaces, f.Namespace, maxKeys)
	}
}

func keyOf(f Finding) groupKey {
	key := groupKey{rule: f.Rule, possible: f.Possible}
	if f.Binding != "" {
		key.binding, key.request = f.Binding, f.Verb+" "+f.Resource
	}
	return key
}

// group returns nil if there are too many groups.
func (r *Report) group(key groupKey) *group {
	if g := r.groups[key]; g != nil {
		return g
	}
	if len(r.groups) >= maxGroups {
		return nil
	}
	if r.groups == nil {
		r.groups = map[groupKey]*group{}
	}
	g := &group{users: map[string]bool{}, keys: map[string]bool{}, namespaces: map[string]bool{},
		nodes: map[string]bool{}}
	r.groups[key] = g
	return g
}

// addUser does not count the user of findings that a metric does not count by user.
func (r *Report) addUser(g *group, user string) {
	if user == auditfindings.OtherUsers {
		g.manyUsers = true
		return
	}
	if user == "" || g.users[user] {
		return
	}
	if r.users >= maxAllUsers || !addBounded(g.users, user, maxUsers) {
		g.manyUsers = true
		return
	}
	r.users++
	if len(g.first) < shownUsers {
		g.first = append(g.first, user)
	}
}

func (g *group) addKeys(keys []string, complete bool) {
	g.incomplete = g.incomplete || !complete
	for _, key := range keys {
		if !addBounded(g.keys, key, maxKeys) {
			g.incomplete = true
		}
	}
}

// addBounded reports whether the set has the value now.
func addBounded(set map[string]bool, value string, most int) bool {
	if !set[value] && len(set) >= most {
		return false
	}
	set[value] = true
	return true
}

// Example is one of the requests of an entry.
type Example struct {
	User      string `json:"user"`
	Verb      string `json:"verb"`
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Entry summarizes the findings of one rule. The findings of requests that RBAC allows to nodes have
// one entry for each binding, verb and resource.
type Entry struct {
	Rule        rules.ID `json:"rule"`
	Description string   `json:"description,omitempty"`
	Binding     string   `json:"binding,omitempty"`
	Request     string   `json:"request,omitempty"`
	// Possible is true if the rule may allow the requests.
	Possible bool  `json:"possible,omitempty"`
	Requests int64 `json:"requests"`
	// Users is the number of users. There are more if ManyUsers is true. FirstUsers are the first
	// ones that were seen.
	Users      int      `json:"users"`
	ManyUsers  bool     `json:"manyUsers,omitempty"`
	FirstUsers []string `json:"firstUsers"`
	// Nodes are the nodes whose kubelet-auth-proxy has reported the findings, up to 200. A compromised
	// node can invent them.
	Nodes   []string `json:"nodes,omitempty"`
	Example *Example `json:"example,omitempty"`
	Setting Setting  `json:"setting"`
}

// Entries returns the summary: certain findings first, then those of most requests.
func (r *Report) Entries() []Entry {
	entries := []Entry{}
	for key, g := range r.groups {
		entries = append(entries, g.entry(key))
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Possible != b.Possible {
			return map[bool]int{true: 1, false: -1}[a.Possible]
		}
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Binding, b.Binding),
			cmp.Compare(a.Request, b.Request))
	})
	return entries
}

// Omitted is the number of findings that are in no entry: there are too many different ones, or
// their rule is invalid.
func (r *Report) Omitted() int64 { return r.omitted }

func (g *group) entry(key groupKey) Entry {
	e := Entry{Rule: key.rule, Binding: key.binding, Request: key.request, Possible: key.possible, Requests: g.count,
		Users: len(g.users), ManyUsers: g.manyUsers, FirstUsers: append([]string{}, g.first...),
		Nodes: slices.Sorted(maps.Keys(g.nodes)), Example: g.example}
	rule, _ := rules.Find(allRules, key.rule)
	e.Description = rule.Description
	if key.rule == StaleToken {
		e.Description = "A client uses a token that is valid only because kube-apiserver extends tokens to a year. " +
			"Profile hardened ends that."
	}
	d := details{
		keys: slices.Sorted(maps.Keys(g.keys)), namespaces: slices.Sorted(maps.Keys(g.namespaces)), incomplete: g.incomplete,
	}
	if len(g.first) == 1 && !g.manyUsers {
		d.account = accountOf(g.first[0])
	}
	e.Setting = settingFor(key, rule, d)
	return e
}
