// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

var a, b = scopelist.Account{Namespace: "ns", Name: "a"}, scopelist.Account{Namespace: "ns", Name: "b"}

func newFile(t *testing.T) (*ListFile, func(text string), func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write(authorizationFile)
	return NewListFile(ListFileConfig{Path: path, Kind: scopelist.Authorization,
		Validate: func([]byte) error { return nil }}), write, read
}

func hashOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func TestPutListFile(t *testing.T) {
	f, _, read := newFile(t)
	if listed, err := f.Look(); len(listed) > 0 || err != nil {
		t.Errorf("at first %v (%v)", listed, err)
	}
	for _, step := range []struct {
		accounts []scopelist.Account
		wrote    bool
	}{{[]scopelist.Account{a}, true}, {[]scopelist.Account{a}, false}, {[]scopelist.Account{b, a}, true}, {nil, true}} {
		before := read()
		wrote, err := f.Put(step.accounts)
		if wrote != step.wrote || err != nil || (before != read()) != step.wrote {
			t.Errorf("%v: wrote is %v (%v)", step.accounts, wrote, err)
		}
		if got, known := f.Listed(hashOf(read())); !known || len(got) != len(step.accounts) || !f.IsLoaded(hashOf(read())) {
			t.Errorf("%v: under its hash there is %v, %v", step.accounts, got, known)
		}
	}
	if read() != authorizationFile {
		t.Errorf("left is\n%s", read())
	}
	// The list of an earlier state is still known, because the server may have loaded that
	// state.
	one, err := scopelist.Replace(scopelist.Authorization, []byte(authorizationFile), []scopelist.Account{a})
	if got, known := f.Listed(hashOf(string(one))); !known || !slices.Equal(got, []scopelist.Account{a}) || err != nil ||
		f.IsLoaded(hashOf(string(one))) {
		t.Errorf("of an earlier state there is %v, %v", got, known)
	}
	for _, hash := range []string{"", "sha256:0"} {
		if _, known := f.Listed(hash); known || f.IsLoaded(hash) {
			t.Errorf("%q is known", hash)
		}
	}
}

// After any error, the file is unchanged.
func TestTheLastGoodIsKept(t *testing.T) {
	f, write, read := newFile(t)
	f.Validate = func(file []byte) error {
		if strings.Contains(string(file), "ns:b") {
			return errors.New("no good")
		}
		return nil
	}
	if _, err := f.Put([]scopelist.Account{a}); err != nil {
		t.Fatal(err)
	}
	good := read()
	if wrote, err := f.Put([]scopelist.Account{b}); wrote || err == nil ||
		!strings.Contains(err.Error(), "the API server would not load it: no good") || read() != good {
		t.Errorf("%v, %v", wrote, err)
	}
	foreign := strings.Replace(good, "Deny", "Maybe", 1)
	write(foreign)
	if _, err := f.Look(); err == nil {
		t.Error("a file that is not ours is read")
	}
	if wrote, err := f.Put(nil); wrote || err == nil || read() != foreign {
		t.Errorf("written to a file that is not ours: %v", err)
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if wrote, err := f.Put(nil); wrote || err == nil || !strings.Contains(err.Error(), "node scope is not installed") {
		t.Errorf("%v, %v", wrote, err)
	}
}

// The text around the list comes from the current file, not from the file that was read first.
func TestTheInstallerMayWrite(t *testing.T) {
	f, write, read := newFile(t)
	if _, err := f.Put([]scopelist.Account{a}); err != nil {
		t.Fatal(err)
	}
	write("# another template\n" + authorizationFile)
	if listed, err := f.Look(); len(listed) > 0 || err != nil {
		t.Errorf("got %v (%v)", listed, err)
	}
	if wrote, err := f.Put([]scopelist.Account{a}); !wrote || err != nil ||
		!strings.HasPrefix(read(), "# another template\n") || !strings.Contains(read(), "ns:a") {
		t.Errorf("%v, %v\n%s", wrote, err, read())
	}
}

// The server may identify a file by a hash of its whole directory.
func TestAnotherHash(t *testing.T) {
	f, _, _ := newFile(t)
	hashes := []string{"1", "1", "1", "2", "3", "3"}
	f.Hash = func() (string, error) {
		hash := hashes[0]
		hashes = hashes[1:]
		return hash, nil
	}
	for i, want := range []bool{true, false, true} {
		if _, err := f.Look(); err != nil {
			t.Fatal(err)
		}
		if got := f.IsLoaded([]string{"1", "2", "3"}[i]); got != want {
			t.Errorf("look %d: %v, want %v", i, got, want)
		}
	}
	f.Hash = func() (string, error) { return "", errors.New("no directory") }
	if _, err := f.Look(); err == nil {
		t.Error("a hash that cannot be made is none")
	}
}

func TestOldStatesAreForgotten(t *testing.T) {
	f, write, _ := newFile(t)
	for i := range 3 * remembered {
		write(fmt.Sprintf("# %d\n%s", i, authorizationFile))
		if _, err := f.Look(); err != nil {
			t.Fatal(err)
		}
	}
	if _, known := f.Listed(hashOf("# 0\n" + authorizationFile)); known || len(f.lists) != remembered ||
		len(f.order) != remembered {
		t.Errorf("%d states are kept", len(f.lists))
	}
}
