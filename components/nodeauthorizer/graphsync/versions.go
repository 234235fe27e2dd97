// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import "k8s.io/apimachinery/pkg/util/resourceversion"

// identity is an object's namespace and name.
type identity struct{ namespace, name string }

// versions orders the two sources of one resource. The watch shows every change, but late. Live
// reads show some objects in their current state.
//
// A live read may be slow. Its result is news only if it is newer than the last version of the
// watch. Then the watch will also show every later change, and a deletion that the watch has
// already shown is never reverted. After a live read is ahead of the watch for one object, older
// events of that object are skipped.
//
// Resource versions are comparable within one resource since Kubernetes 1.35 (KEP-5504). If two
// versions cannot be compared, the event of the watch is applied and the live read is not news.
type versions struct {
	// seen is the newest version that the watch has shown, in an event, a bookmark or a list. It is
	// empty before the first complete list.
	seen string
	// ahead has the objects for which a live read has shown a version newer than seen. They are
	// removed when the watch reaches that version.
	ahead map[identity]string
}

// see records that the watch has reached the version.
func (v *versions) see(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, v.seen); err == nil && order < 0 {
		return
	}
	v.seen = version
}

// restart records that the graph equals a list of that version. The version may be older than seen,
// because a cluster can be restored from a backup.
func (v *versions) restart(version string) {
	v.seen = version
	v.ahead = nil
}

// gathered records that the graph has the object in the version of an incomplete list, even if a
// live read has shown another version before. A live read that ends before the list does must not
// revert the object to an older version. Before the first list, there are no live reads.
func (v *versions) gathered(which identity, version string) {
	if v.seen != "" {
		v.advance(which, version)
	}
}

// outdated reports whether a live read has shown a newer version than this watch event. If not, the
// watch has caught up, and the object is removed from ahead.
func (v *versions) outdated(which identity, version string) bool {
	ahead, ok := v.ahead[which]
	if !ok {
		return false
	}
	if order, err := resourceversion.CompareResourceVersion(version, ahead); err == nil && order < 0 {
		return true
	}
	delete(v.ahead, which)
	return false
}

// news reports whether a live read shows a newer version of the object than everything before. It
// returns an error if the versions cannot be compared.
func (v *versions) news(which identity, version string) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(version, v.seen)
	if err != nil || order <= 0 {
		return false, err
	}
	ahead, ok := v.ahead[which]
	if !ok {
		return true, nil
	}
	order, err = resourceversion.CompareResourceVersion(version, ahead)
	return order > 0, err
}

// advance records the version of an object in the graph that is newer than seen.
func (v *versions) advance(which identity, version string) {
	if v.ahead == nil {
		v.ahead = map[identity]string{}
	}
	v.ahead[which] = version
}

// prune removes the objects whose version the watch has reached. Events remove their own object.
// prune removes those for which no event came.
func (v *versions) prune() {
	for which, version := range v.ahead {
		if order, err := resourceversion.CompareResourceVersion(version, v.seen); err != nil || order <= 0 {
			delete(v.ahead, which)
		}
	}
}
