// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

var must, mentions = installtest.Must, installtest.Mentions

func set(node, value string) func(map[string]string) {
	return func(entries map[string]string) { entries[node] = value }
}

func remove(node string) func(map[string]string) {
	return func(entries map[string]string) { delete(entries, node) }
}

func TestUpdateCreatesChangesAndDeletesTheConfigMap(t *testing.T) {
	configs := &installtest.ConfigMaps{}
	for _, step := range []struct {
		name    string
		change  func(map[string]string)
		want    map[string]string
		changed bool
	}{
		{"nothing to remove", remove("cp-1"), nil, false},
		{"first entry", set("cp-1", "a"), map[string]string{"cp-1": "a"}, true},
		{"the same entry", set("cp-1", "a"), map[string]string{"cp-1": "a"}, false},
		{"second entry", set("cp-2", "b"), map[string]string{"cp-1": "a", "cp-2": "b"}, true},
		{"remove one", remove("cp-1"), map[string]string{"cp-2": "b"}, true},
		{"remove the last", remove("cp-2"), nil, true},
	} {
		changed, err := Update(t.Context(), configs, step.change)
		must(t, err)
		got, err := Entries(t.Context(), configs)
		must(t, err)
		if diff := cmp.Diff(step.want, got); diff != "" || changed != step.changed {
			t.Errorf("%s: changed is %v (-want +got):\n%s", step.name, changed, diff)
		}
	}
	if names := configs.Names(); len(names) != 0 {
		t.Errorf("left are %v", names)
	}
}

// Another host writes between the read and the write of this one.
func TestUpdateKeepsWhatAnotherHostWrites(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before map[string]string
		verb   string
		other  func(map[string]string)
		own    func(map[string]string)
		want   map[string]string
	}{
		{"both create", nil, "create", set("cp-2", "b"), set("cp-1", "a"), map[string]string{"cp-1": "a", "cp-2": "b"}},
		{"both update", map[string]string{"cp-3": "c"}, "update", set("cp-2", "b"), set("cp-1", "a"),
			map[string]string{"cp-1": "a", "cp-2": "b", "cp-3": "c"}},
		{"other deletes", map[string]string{"cp-2": "b"}, "update", remove("cp-2"), set("cp-1", "a"),
			map[string]string{"cp-1": "a"}},
		{"this one deletes", map[string]string{"cp-1": "a"}, "delete", set("cp-2", "b"), remove("cp-1"),
			map[string]string{"cp-2": "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			configs := &installtest.ConfigMaps{}
			for node, value := range tc.before {
				_, err := Update(t.Context(), configs, set(node, value))
				must(t, err)
			}
			once := false
			configs.Before(func(verb string) error {
				if verb != tc.verb || once {
					return nil
				}
				once = true
				_, err := Update(t.Context(), configs, tc.other)
				return err
			})
			changed, err := Update(t.Context(), configs, tc.own)
			must(t, err)
			got, err := Entries(t.Context(), configs)
			must(t, err)
			if diff := cmp.Diff(tc.want, got); diff != "" || !changed || !once {
				t.Errorf("changed: %v, other host wrote: %v (-want +got):\n%s", changed, once, diff)
			}
		})
	}
}

func TestUpdateGivesUp(t *testing.T) {
	t.Run("conflict at every try: error", func(t *testing.T) {
		configs := &installtest.ConfigMaps{}
		_, err := Update(t.Context(), configs, set("cp-1", "a"))
		must(t, err)
		writes := 0
		configs.Before(func(verb string) error {
			if verb != "update" {
				return nil
			}
			writes++
			_, err := Update(t.Context(), configs, set("cp-2", string(rune('a'+writes))))
			return err
		})
		_, err = Update(t.Context(), configs, set("cp-1", "b"))
		mentions(t, err, "cannot change ConfigMap bulkhead-hosts")
		if writes < 2 || writes > 10 {
			t.Errorf("%d tries", writes)
		}
	})
	t.Run("API does not answer: error at once", func(t *testing.T) {
		configs := &installtest.ConfigMaps{}
		configs.Before(func(string) error { return errors.New("connection refused") })
		_, err := Update(t.Context(), configs, set("cp-1", "a"))
		mentions(t, err, "connection refused")
		_, err = Entries(t.Context(), configs)
		mentions(t, err, "connection refused")
	})
}

func TestMissing(t *testing.T) {
	entry := func(wiring string) string {
		h := testEntry()
		h.Wiring = wiring
		text, err := h.Encode()
		must(t, err)
		return text
	}
	for _, tc := range []struct {
		name, entry string
		running     []string
		want        []string
	}{
		{"same wiring, runs: not missing", entry("w"), []string{"cp-1", "cp-2"}, nil},
		{"other wiring", entry("x"), []string{"cp-1", "cp-2"},
			[]string{"cp-2 (it has other settings: profile hardened, mode enforce, verifyKubelets true)"}},
		{"no entry", "", []string{"cp-1", "cp-2"}, []string{"cp-2"}},
		{"half an entry", `{"version":`, []string{"cp-2"},
			[]string{"cp-2 (its entry in ConfigMap bulkhead-hosts cannot be read)"}},
		{"entry, but does not run", entry("w"), []string{"cp-1"}, []string{"cp-2 (node-authorizer does not run there)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// cp-1 has no Node, so its entry has no effect.
			entries := map[string]string{"cp-1": entry("other")}
			if tc.entry != "" {
				entries["cp-2"] = tc.entry
			}
			if diff := cmp.Diff(tc.want, Missing([]string{"cp-2"}, tc.running, entries, "w")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCheckVersion(t *testing.T) {
	for _, tc := range []struct{ name, own, other, problem, note string }{
		{"same version", "v0.2.0", "v0.2.0", "", ""},
		{"other host is older", "v0.2.0", "v0.1.9", "", ""},
		{"other host is newer", "v0.2.0", "v0.2.1",
			"cannot install with bulkhead v0.2.0: host cp-2 has bulkhead v0.2.1, which is newer", ""},
		{"tenth minor version is newer than the ninth", "v0.9.0", "v0.10.0", "which is newer", ""},
		{"release is newer than its candidate", "v0.2.0-rc.1", "v0.2.0", "which is newer", ""},
		{"candidate is older than its release", "v0.2.0", "v0.2.0-rc.1", "", ""},
		{"build metadata does not count", "v0.2.0", "v0.2.0+dirty", "", ""},
		{"own version is dev", "dev", "v9.0.0", "", "cannot be compared"},
		{"other version is dev", "v0.2.0", "dev", "", "cannot be compared"},
		{"both are dev", "dev", "dev", "", ""},
		{"two commits without a tag", "v0.0.0-g0123456789ab", "v0.0.0-gfedcba987654", "", "cannot be compared"},
		{"a commit after the tag", "v0.2.0", "v0.2.1-5-g0123456789ab-dirty", "", "cannot be compared"},
		{"candidate with a name like a commit is a release", "v0.2.0", "v0.2.1-gamma", "which is newer", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := testEntry()
			h.Version = tc.other
			text, err := h.Encode()
			must(t, err)
			notes, err := CheckVersion(Program{Version: tc.own}, map[string]string{"cp-2": text})
			mentions(t, err, tc.problem)
			mentions(t, errors.Join(asErrors(notes)...), tc.note)
		})
	}
	t.Run("unreadable entry: only a note", func(t *testing.T) {
		notes, err := CheckVersion(Program{Version: "v0.2.0"}, map[string]string{"cp-2": "{"})
		mentions(t, err, "")
		mentions(t, errors.Join(asErrors(notes)...), "cannot read the entry of host cp-2")
	})
}

func TestCheckVersionByTheTimeOfCommits(t *testing.T) {
	const (
		earlier, later      = "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"
		commit, otherCommit = "v0.0.0-g0123456789ab", "v0.0.0-gfedcba987654"
		byTimes             = "compared by the time of their commits"
	)
	for _, tc := range []struct {
		name          string
		own, other    Program
		problem, note string
	}{
		{"other host has a later commit", Program{commit, earlier}, Program{otherCommit, later}, "which is newer", byTimes},
		{"other host has an earlier commit", Program{commit, later}, Program{otherCommit, earlier}, "", byTimes},
		{"changes after the same commit", Program{commit, later}, Program{commit + "-dirty", later}, "", byTimes},
		{"own changes after a release", Program{"v0.2.0-dirty", later}, Program{"v0.2.0", later}, "", byTimes},
		{"other host has a later release", Program{commit, earlier}, Program{"v0.2.0", later}, "which is newer", byTimes},
		{"two releases: by version", Program{"v0.2.0", earlier}, Program{"v0.1.9", later}, "", ""},
		{"own time is not known", Program{commit, ""}, Program{otherCommit, later}, "", "cannot be compared"},
		{"other time is not known", Program{commit, later}, Program{otherCommit, ""}, "", "cannot be compared"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := testEntry()
			h.Version, h.Committed = tc.other.Version, tc.other.Committed
			text, err := h.Encode()
			must(t, err)
			notes, err := CheckVersion(tc.own, map[string]string{"cp-2": text})
			mentions(t, err, tc.problem)
			mentions(t, errors.Join(asErrors(notes)...), tc.note)
		})
	}
}

func asErrors(notes []string) (errs []error) {
	for _, note := range notes {
		errs = append(errs, errors.New(note))
	}
	return errs
}
