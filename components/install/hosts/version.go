// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
)

// DowngradeFlag allows an installation by a program that is older than the one of another host.
const DowngradeFlag = "allow-downgrade"

// CheckVersion returns an error if a host was installed by a newer version than own. An older
// program would replace the API objects that all hosts share. notes names what cannot be compared:
// such a host counts as having the same version.
func CheckVersion(own string, entries map[string]string) (notes []string, err error) {
	known, unknown := Parse(entries)
	for _, node := range slices.Sorted(maps.Keys(unknown)) {
		notes = append(notes, unknown[node].Error())
	}
	for _, node := range slices.Sorted(maps.Keys(known)) {
		other := known[node].Version
		if other == own {
			continue
		}
		mine, theirs := parse(own), parse(other)
		switch {
		case mine == nil || theirs == nil:
			notes = append(notes, fmt.Sprintf("this program is bulkhead %s, and host %s has bulkhead %s: these versions "+
				"cannot be compared", own, node, other))
		case mine.LessThan(theirs) && err == nil:
			err = fmt.Errorf("cannot install with bulkhead %s: host %s has bulkhead %s, which is newer. Use that program, "+
				"or --%s", own, node, other, DowngradeFlag)
		}
	}
	return notes, err
}

// ofCommit matches the description of a commit by git (scripts/ldflags.sh). The order of two commits
// is not in their descriptions.
var ofCommit = regexp.MustCompile(`-g[0-9a-f]{7,40}(-dirty)?$`)

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
