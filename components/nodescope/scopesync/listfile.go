// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// remembered is how many states of the file are kept. The server may use an older state. It can
// miss a change for a minute, and a tenant can cause a change every two seconds.
const remembered = 64

// ListFileConfig identifies one file.
type ListFileConfig struct {
	Path string
	Kind *scopelist.Kind
	// Validate parses the file as the API server does. It is required: a file that the server
	// cannot load prevents the server from starting.
	Validate func(file []byte) error
	// Hash returns the hash with which the API server identifies the file together with
	// everything that it loads with it. If it is nil, the hash is the SHA-256 of the file, as
	// sha256:<hex>.
	Hash func() (string, error)
}

// ListFile keeps the list of accounts in one file of the API server. It also finds the list
// that belongs to the hash that the server reports. It is not safe for concurrent use. Use
// [NewListFile].
//
// # Concurrent writes
//
// The installer replaces the same file, and uses no lock that a pod could hold. So
// [ListFile.Put] reads the file again before each write and changes only the list. Directly
// before the rename, it compares the file once more ([atomicfile.Replace]).
//
// A write by the installer in the microseconds after that comparison is lost: Put overwrites it
// with the earlier template. The installer waits until the server reports that it runs with the
// installer's file. It sees that this does not happen, and writes again. Until then the file is
// one that was in force a moment before.
//
// If another writer replaces the file with one without the list, the next look finds that two
// seconds later, and the list is written again.
type ListFile struct {
	ListFileConfig
	seen     []byte
	accounts []scopelist.Account
	hash     string
	// lists are the lists of the last states, by hash. order has the hashes, oldest first.
	lists map[string][]scopelist.Account
	order []string
}

// NewListFile returns a ListFile. It does not read the file.
func NewListFile(config ListFileConfig) *ListFile {
	return &ListFile{ListFileConfig: config, lists: map[string][]scopelist.Account{}}
}

// Look reads the file and returns the accounts in its list, sorted.
func (f *ListFile) Look() ([]scopelist.Account, error) {
	before, err := f.otherHash()
	if err != nil {
		return nil, err
	}
	file, err := f.read()
	if err != nil {
		return nil, err
	}
	if f.seen == nil || !bytes.Equal(file.Data, f.seen) {
		accounts, err := scopelist.Read(f.Kind, file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		f.seen, f.accounts = file.Data, accounts
	}
	after, err := f.otherHash()
	if err != nil {
		return nil, err
	}
	switch {
	case f.Hash == nil:
		f.remember(fmt.Sprintf("sha256:%x", sha256.Sum256(f.seen)))
	case before == after:
		f.remember(after)
	default:
		// Another process is writing. The next look reads the result.
		f.hash = ""
	}
	return f.accounts, nil
}

func (f *ListFile) otherHash() (string, error) {
	if f.Hash == nil {
		return "", nil
	}
	hash, err := f.Hash()
	if err != nil {
		return "", fmt.Errorf("looking at %s: %w", f.Path, err)
	}
	return hash, nil
}

func (f *ListFile) read() (atomicfile.File, error) {
	file, exists, err := atomicfile.Read(f.Path)
	if err == nil && !exists {
		err = fmt.Errorf("there is no %s: node scope is not installed on this host", f.Path)
	}
	return file, err
}

func (f *ListFile) remember(hash string) {
	f.hash = hash
	if _, known := f.lists[hash]; !known {
		f.order = append(f.order, hash)
	}
	f.lists[hash] = f.accounts
	if len(f.order) > remembered {
		delete(f.lists, f.order[0])
		f.order = slices.Delete(f.order, 0, 1)
	}
}

// Put makes accounts the list of the file, and reports whether it wrote the file. It does not
// write a file that the API server would not load. After an error before the write, the file is
// unchanged. The error is [atomicfile.ErrChanged] if another process wrote the file in the
// meantime.
func (f *ListFile) Put(accounts []scopelist.Account) (wrote bool, err error) {
	file, err := f.read()
	if err != nil {
		return false, err
	}
	next, err := scopelist.Replace(f.Kind, file.Data, accounts)
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.Path, err)
	}
	if bytes.Equal(next, file.Data) {
		return false, nil
	}
	if err := f.Validate(next); err != nil {
		return false, fmt.Errorf("%s is not written, because the API server would not load it: %w", f.Path, err)
	}
	if err := atomicfile.Replace(f.Path, file, next); err != nil {
		return false, err
	}
	_, err = f.Look()
	return true, err
}

// IsLoaded reports whether the hash is that of the file as it was last read.
func (f *ListFile) IsLoaded(hash string) bool { return hash != "" && hash == f.hash }

// Listed returns the accounts in the state of the file with that hash. known is false if there
// is no such state among the last states.
func (f *ListFile) Listed(hash string) (accounts []scopelist.Account, known bool) {
	accounts, known = f.lists[hash]
	return accounts, known && hash != ""
}
