// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package listfile keeps the list of accounts in one of the API server's files, and knows
// which list the server means when it says which file it has loaded.
//
// # Who else writes
//
// The installer replaces the same file, and takes no lock that a pod could hold. So the
// file is read again before each write, its list alone is changed, and it is compared
// once more directly before the new one is renamed to its place ([atomicfile.Replace]). Who
// renames in the microseconds after that is overwritten with the template of before: the
// installer, which waits until the server says that it runs with the installer's file,
// sees that it does not and writes again, and until then the file is one that was in
// force a moment ago. Who overwrites ours without the list is met at the next look, two
// seconds later, and the list is put in again.
package scopesync

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// remembered is how many states of the file are kept. The server may be behind by some: it
// can miss a change for a minute, and a tenant can have the file changed every two seconds.
const remembered = 64

// ListFileConfig says which file it is.
type ListFileConfig struct {
	Path string
	Kind *scopelist.Kind
	// Validate reads the file as the API server does. It must not be nil: a file that the
	// server cannot load keeps it from starting.
	Validate func(file []byte) error
	// Hash is by what the API server tells the file, and all that it reads with it, from
	// others. If it is nil that is the SHA-256 of the file, as sha256:<hex>.
	Hash func() (string, error)
}

// ListFile is not safe for concurrent use. Use [NewListFile].
type ListFile struct {
	ListFileConfig
	seen     []byte
	accounts []scopelist.Account
	hash     string
	// lists are those of the last states, by hash; order has the oldest first.
	lists map[string][]scopelist.Account
	order []string
}

// NewListFile reads nothing.
func NewListFile(config ListFileConfig) *ListFile {
	return &ListFile{ListFileConfig: config, lists: map[string][]scopelist.Account{}}
}

// Look reads the file, and returns the accounts in its list, in order.
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
		// Somebody writes just now. The next look shows what it has become.
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

// Put makes the accounts the list, if they are not, and reports whether it wrote. A file
// that the API server would not load is not written; whatever goes wrong, what is there
// stays. The error is [atomicfile.ErrChanged] if somebody else has written meanwhile.
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

// IsLoaded reports whether the hash is that of the file as it was last seen.
func (f *ListFile) IsLoaded(hash string) bool { return hash != "" && hash == f.hash }

// Listed returns the accounts of the state of the file that has the hash. It is false if
// no such state has been seen, or not lately: then nobody can tell.
func (f *ListFile) Listed(hash string) (accounts []scopelist.Account, known bool) {
	accounts, known = f.lists[hash]
	return accounts, known && hash != ""
}
