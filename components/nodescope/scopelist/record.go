// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

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

// The ConfigMap with the records.
const (
	RecordsNamespace = "kube-system"
	RecordsName      = "bulkhead-node-scope"
)

// MaxRecordBytes is the maximum size of the record of one host. The records of three hosts fit
// into a ConfigMap of 1 MiB, whatever the names of the accounts.
const MaxRecordBytes = 320 << 10

// State says which of the two lists are live for an account. A list is live if the API server
// of the host has loaded it with the account in it, and the component that the server calls has
// seen the account's annotations. The zero value is pending in both.
type State struct{ Authorization, Admission bool }

// Record is the status of one host. scope-sync writes it to the ConfigMap [RecordsName] in
// [RecordsNamespace], under the name of the host's Node. Every control-plane host has an API
// server with its own files, and so its own record.
//
// A record says for which accounts the API server of the host already calls node scope. An
// account that is not in the record is pending. If a record is old, truncated or missing, an
// account may be shown as pending, but never wrongly as protected.
type Record struct {
	// Time is when scope-sync last checked, in seconds.
	Time time.Time
	// Problem is what prevents a list from becoming live; empty if there is no problem.
	Problem  string
	Accounts map[Account]State
	// Details are the details of accounts that are live in at least one list.
	Details map[Account]Detail
	// Omitted is the number of accounts that did not fit into the record.
	Omitted int
}

// Detail says which annotations of an account are live, and since when.
type Detail struct {
	// Digest identifies the annotations that every component has ([Digest]). If the current
	// annotations have another digest, the account is pending.
	Digest string
	// Since is the time, in seconds, since which both lists and these annotations have been in
	// force. Watches that began earlier may continue. It is zero if they are not in force.
	Since time.Time
}

// stored is the format of a record in the ConfigMap, made to be readable: names by state and
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

// maxProblem is the maximum length of Problem, in bytes.
const maxProblem = 1 << 10

// Encode returns the record as text of at most [MaxRecordBytes]. The same record gives the same
// text.
func (r Record) Encode() (string, error) {
	s := stored{
		Time: r.Time.UTC().Truncate(time.Second), Problem: r.Problem[:min(len(r.Problem), maxProblem)], Omitted: r.Omitted,
		States: map[string]map[string][]string{}, Details: map[string]map[string]string{},
	}
	// Reserve room for everything that is not a name.
	left := MaxRecordBytes - 2*maxProblem*6
	// Pending accounts come last. A user who can annotate many accounts must not be able to
	// push a live account out of the record.
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

// add adds the account if there is room, and returns the room that it uses.
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

// decodeDetail returns a zero Since if the time cannot be parsed.
func decodeDetail(text string) Detail {
	digest, since, _ := strings.Cut(text, "@")
	d := Detail{Digest: digest}
	if seconds, err := strconv.ParseInt(since, 10, 64); err == nil {
		d.Since = time.Unix(seconds, 0).UTC()
	}
	return d
}

// DecodeRecord parses a record.
func DecodeRecord(text string) (Record, error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Record{}, fmt.Errorf("reading the state of scope-sync: %w", err)
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
					// If an account has two states, only what both contain is certain.
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

// digestLength is the length of a digest in bytes. It is long enough that a tenant cannot find
// two values with the same digest.
const digestLength = 16

// DigestOfAccount identifies the node-scope annotations of a ServiceAccount. It is empty if
// there are none.
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

// DigestOfPod identifies the value of a pod's annotation.
func DigestOfPod(value string) string {
	sum := sha256.New()
	addPart(sum, value)
	return encodeSum(sum)
}

// Digest identifies the annotations of an account and its pods together, from their own
// digests. It is empty if there are no annotations.
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

// addPart writes the length first, so that different parts never give the same bytes.
func addPart(sum hash.Hash, part string) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
	_, _ = sum.Write([]byte(part))
}

func encodeSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:digestLength]) }
