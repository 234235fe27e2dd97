// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopestate is what scope-sync tells everybody of the accounts that have a scope:
// which of them the API server of its host asks about already.
//
// The record lies in one ConfigMap, [RecordsName] in [RecordsNamespace], under the name of the host's
// Node: every control-plane host has an API server with files of its own. What is not in
// a record is pending; a record that is old, cut short or missing never shows an account
// as protected that is not known to be.
package scopelist

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// Where the records are.
const (
	RecordsNamespace = "kube-system"
	RecordsName      = "bulkhead-node-scope"
)

// MaxRecordBytes bounds the record of one host, so that those of three fit into the 1 MiB of a
// ConfigMap whatever accounts are called.
const MaxRecordBytes = 320 << 10

// State says of one account which of the two lists that name it are live: in force on the
// API server of the host. The zero value is pending in both.
type State struct{ Authorization, Admission bool }

// Record is that of one host.
type Record struct {
	// Time is when scope-sync last looked, in seconds.
	Time time.Time
	// Problem says what keeps lists from becoming live; empty if nothing does.
	Problem  string
	Accounts map[Account]State
	// Details are those of accounts that are live in a list.
	Details map[Account]Detail
	// Omitted is how many accounts there was no room for.
	Omitted int
}

// Detail says what is live of an account, and since when.
type Detail struct {
	// Digest identifies the annotations that every component has ([Digest]). An account of
	// which the annotations are others now is pending.
	Digest string
	// Since is from when on, in seconds, both lists and these annotations have been in
	// force. Watches that were begun before may go on. Zero if they are not in force.
	Since time.Time
}

// stored is a record as a person reads it in the ConfigMap: names by state, and by
// namespace.
type stored struct {
	Time    time.Time                      `json:"time"`
	Problem string                         `json:"problem,omitempty"`
	Omitted int                            `json:"omitted,omitempty"`
	States  map[string]map[string][]string `json:"accounts,omitempty"`
	// Details are DIGEST or DIGEST@SINCE, by namespace and name.
	Details map[string]map[string]string `json:"details,omitempty"`
}

var stateNames = map[State]string{
	{}:                                     "pending",
	{Authorization: true}:                  "liveInAuthorization",
	{Admission: true}:                      "liveInAdmission",
	{Authorization: true, Admission: true}: "live",
}

// maxProblem bounds what is told of a problem.
const maxProblem = 1 << 10

// Encode returns the record as text of at most [MaxRecordBytes]. The same record gives the same
// text.
func (r Record) Encode() (string, error) {
	s := stored{
		Time: r.Time.UTC().Truncate(time.Second), Problem: r.Problem[:min(len(r.Problem), maxProblem)], Omitted: r.Omitted,
		States: map[string]map[string][]string{}, Details: map[string]map[string]string{},
	}
	// All that is not a name, with room to spare.
	left := MaxRecordBytes - 2*maxProblem*6
	// Pending accounts come last: whoever can annotate many accounts must not keep another
	// account, which is live, from being told of.
	for _, pending := range []bool{false, true} {
		for _, account := range slices.SortedFunc(maps.Keys(r.Accounts), Compare) {
			if state := r.Accounts[account]; (state == State{}) == pending {
				left -= s.add(account, state, r.Details[account], left)
			}
		}
	}
	text, err := json.Marshal(s)
	return string(text), err
}

// add tells of the account if there is room, and returns what that takes.
func (s *stored) add(account Account, state State, detail Detail, room int) int {
	word, about := stateNames[state], ""
	if state != (State{}) {
		about = detail.encode()
	}
	cost := len(account.Name) + len(`"",`)
	if s.States[word][account.Namespace] == nil {
		cost += len(account.Namespace) + len(`"":[],`)
	}
	if about != "" {
		cost += len(account.Name) + len(about) + len(`"":"",`)
		if s.Details[account.Namespace] == nil {
			cost += len(account.Namespace) + len(`"":{},`)
		}
	}
	if cost > room {
		s.Omitted++
		return 0
	}
	if s.States[word] == nil {
		s.States[word] = map[string][]string{}
	}
	s.States[word][account.Namespace] = append(s.States[word][account.Namespace], account.Name)
	if about != "" {
		if s.Details[account.Namespace] == nil {
			s.Details[account.Namespace] = map[string]string{}
		}
		s.Details[account.Namespace][account.Name] = about
	}
	return cost
}

func (d Detail) encode() string {
	if d.Since.IsZero() {
		return d.Digest
	}
	return d.Digest + "@" + strconv.FormatInt(d.Since.Unix(), 10)
}

// decodeDetail takes a time that cannot be read for none.
func decodeDetail(text string) Detail {
	digest, since, _ := strings.Cut(text, "@")
	d := Detail{Digest: digest}
	if seconds, err := strconv.ParseInt(since, 10, 64); err == nil {
		d.Since = time.Unix(seconds, 0).UTC()
	}
	return d
}

// DecodeRecord reads a record.
func DecodeRecord(text string) (Record, error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Record{}, fmt.Errorf("reading what scope-sync has told: %w", err)
	}
	r := Record{
		Time: s.Time, Problem: s.Problem, Omitted: s.Omitted,
		Accounts: map[Account]State{}, Details: map[Account]Detail{},
	}
	for state, word := range stateNames {
		for namespace, names := range s.States[word] {
			for _, name := range names {
				account := Account{Namespace: namespace, Name: name}
				now := state
				if other, twice := r.Accounts[account]; twice {
					// Of two states, what is in both is known.
					now.Authorization = now.Authorization && other.Authorization
					now.Admission = now.Admission && other.Admission
				}
				r.Accounts[account] = now
			}
		}
	}
	for namespace, names := range s.Details {
		for name, about := range names {
			r.Details[Account{Namespace: namespace, Name: name}] = decodeDetail(about)
		}
	}
	return r, nil
}

// digestLength is that of a digest in bytes: long enough that no tenant finds two values
// with the same one.
const digestLength = 16

// DigestOfAccount identifies what the annotations of a ServiceAccount say of node scope. It
// is empty if they say nothing.
func DigestOfAccount(annotations map[string]string) string {
	sum, says := sha256.New(), false
	for _, key := range []string{nodescope.ScopeAnnotation, nodescope.ExemptionsAnnotation, nodescope.ModeAnnotation} {
		value, there := annotations[key]
		if says = says || there; there {
			addPart(sum, key)
			addPart(sum, value)
		}
	}
	if !says {
		return ""
	}
	return encodeSum(sum)
}

// DigestOfPod identifies what a pod's annotation says.
func DigestOfPod(value string) string {
	sum := sha256.New()
	addPart(sum, value)
	return encodeSum(sum)
}

// Digest identifies what an account and its pods say together, from their own digests. It
// is empty if none of them says anything.
func Digest(account string, pods map[string]struct{}) string {
	if account == "" && len(pods) == 0 {
		return ""
	}
	sum := sha256.New()
	addPart(sum, account)
	for _, pod := range slices.Sorted(maps.Keys(pods)) {
		addPart(sum, pod)
	}
	return encodeSum(sum)
}

// addPart writes the length first, so that two parts are never read as two others.
func addPart(sum hash.Hash, part string) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
	_, _ = sum.Write([]byte(part))
}

func encodeSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:digestLength]) }
