// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// DowngradeFlag allows an installation by a program that is older than the one of another host.
const DowngradeFlag = "allow-downgrade"

// Program identifies a build of the installer.
type Program struct {
	// Version is a release, the description of a commit, or dev. Committed is as in [Host].
	Version, Committed string
}

// CheckVersion returns an error if a host was installed by a newer program than own. An older
// program would replace the API objects that all hosts share. Two releases are compared by their
// versions, other programs by the time of their commits. A later commit can be older code, of another
// branch, so notes names each host that was compared by time. It also names what cannot be compared: such
// a host counts as having the same version.
func CheckVersion(own Program, entries map[string]string) (notes []string, err error) {
	known, unknown := Parse(entries)
	for _, node := range slices.Sorted(maps.Keys(unknown)) {
		notes = append(notes, unknown[node].Error())
	}
	for _, node := range slices.Sorted(maps.Keys(known)) {
		other := Program{Version: known[node].Version, Committed: known[node].Committed}
		if other.Version == own.Version {
			continue
		}
		older, how := own.isOlderThan(other)
		if how == byTime {
			notes = append(notes, fmt.Sprintf("this program is bulkhead %s of %s, and host %s has bulkhead %s of %s: they were "+
				"compared by the time of their commits", own.Version, own.Committed, node, other.Version, other.Committed))
		}
		switch {
		case how == notAtAll:
			notes = append(notes, fmt.Sprintf("this program is bulkhead %s, and host %s has bulkhead %s: these versions "+
				"cannot be compared", own.Version, node, other.Version))
		case older && err == nil:
			err = fmt.Errorf("cannot install with bulkhead %s: host %s has bulkhead %s, which is newer. Use that program, "+
				"or --%s", own.Version, node, other.Version, DowngradeFlag)
		}
	}
	return notes, err
}

// comparison is how two programs were compared.
type comparison int

const (
	notAtAll comparison = iota
	byVersion
	byTime
)

// isOlderThan compares two releases by their versions, and other programs by the time of their commits.
func (p Program) isOlderThan(other Program) (bool, comparison) {
	if mine, theirs := parse(p.Version), parse(other.Version); mine != nil && theirs != nil {
		return mine.LessThan(theirs), byVersion
	}
	mine, err := time.Parse(time.RFC3339, p.Committed)
	theirs, failed := time.Parse(time.RFC3339, other.Committed)
	if err != nil || failed != nil {
		return false, notAtAll
	}
	return mine.Before(theirs), byTime
}

// ofCommit matches the description of a commit by git, and of changes after it (scripts/ldflags.sh). The
// order of two commits is not in their descriptions.
var ofCommit = regexp.MustCompile(`-g[0-9a-f]{7,40}(-dirty)?$|-dirty$`)

// parse returns nil for a version that is not a release, such as dev.
func parse(text string) *version.Version {
	if ofCommit.MatchString(text) {
		return nil
	}
	v, err := version.ParseSemantic(text)
	if err != nil {
		return nil
	}
	return v
}
