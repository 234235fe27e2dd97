// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"bytes"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// Accounts are how many accounts kube-apiserver is to hold to their nodes, in what
// they ask for and in what they write. scope-sync keeps the two alike; they differ while
// it writes, and where one file cannot be written.
func Accounts(l host.Layout) (asking, writing int, err error) {
	asks, err := listed(scopelist.Authorization, l.AuthorizationConfig())
	if err != nil {
		return 0, 0, err
	}
	writes, err := listed(scopelist.Admission, l.ScopeRegistration())
	return len(asks), len(writes), err
}

// InForce is true if there is something that makes kube-apiserver ask about
// accounts, whatever a record says.
func InForce(l host.Layout) (bool, error) {
	config, there, err := atomicfile.Read(l.AuthorizationConfig())
	return there && namesScope(config.Data) || atomicfile.Exists(l.ScopeRegistration()), err
}

func namesScope(file []byte) bool { return bytes.Contains(file, []byte(scopelist.EntryName)) }

// listed are the accounts in a file of ours, none if it has no list.
func listed(kind *scopelist.Kind, path string) ([]scopelist.Account, error) {
	have, there, err := atomicfile.Read(path)
	if err != nil || !there || !namesScope(have.Data) {
		return nil, err
	}
	accounts, err := scopelist.Read(kind, have.Data)
	if err != nil {
		return nil, fmt.Errorf(
			"%s: cannot read the scoped accounts, which would lose their scope: repair the file first, or "+
				"switch node scope off: %w", path, err)
	}
	return accounts, nil
}

// keepAccounts puts the accounts that are listed in the file at path into another one,
// which is to take its place.
func keepAccounts(kind *scopelist.Kind, file []byte, path string) ([]byte, error) {
	accounts, err := listed(kind, path)
	if err != nil {
		return nil, err
	}
	return scopelist.Replace(kind, file, accounts)
}
