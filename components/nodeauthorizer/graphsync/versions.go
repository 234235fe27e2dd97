// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import "k8s.io/apimachinery/pkg/util/resourceversion"

// identity is an object's namespace and name.
type identity struct{ namespace, name string }

// versions puts the two sources of one resource in order: the watch, which shows
// every change, but late; and live reads, which show some objects as they are.
//
// A live read may be slow. What it shows is news only if the watch has yet to
// come to it: then a later change will come as well, and a deletion that the
// watch has shown already is never undone. Once a live read is ahead of the
// watch with one object, events of that object that are older are left out.
//
// Resource versions can be compared within one resource since Kubernetes 1.35
// (KEP-5504). Where one cannot, the watch has its way and nothing is news.
type versions struct {
	// seen is the newest version that the watch has shown: of an event, a bookmark
	// or a list. It is empty as long as nothing was listed.
	seen string
	// ahead has the objects of which a live read has shown a version newer than
	// seen. The watch takes them out as it comes to them.
	ahead map[identity]string
}

// see notes that the watch has come to the version.
func (v *versions) see(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, v.seen); err == nil && order < 0 {
		return
	}
	v.seen = version
}

// restart notes that the graph is what a list of that version says, and nothing
// else. It may be older than what was seen: a cluster can be restored from a
// backup.
func (v *versions) restart(version string) {
	v.seen = version
	v.ahead = nil
}

// gathered notes that the graph has the object as a list has it that is not
// complete yet, whatever a live read has shown before. One that ends before the
// list does must not go back behind it. As long as nothing was listed there are no
// live reads.
func (v *versions) gathered(which identity, version string) {
	if v.seen != "" {
		v.advance(which, version)
	}
}

// outdated reports whether a live read was ahead of this event of the watch. If
// not, the watch has caught up with it.
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

// news reports whether what a live read shows is newer than all that was shown of
// the object before. The error says that this cannot be known.
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

// advance notes that the graph has the object in a version that was news.
func (v *versions) advance(which identity, version string) {
	if v.ahead == nil {
		v.ahead = map[identity]string{}
	}
	v.ahead[which] = version
}

// prune drops what the watch has come to. Events do so object by object; this
// is for what they did not name.
func (v *versions) prune() {
	for which, version := range v.ahead {
		if order, err := resourceversion.CompareResourceVersion(version, v.seen); err != nil || order <= 0 {
			delete(v.ahead, which)
		}
	}
}
