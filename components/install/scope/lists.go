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

// Accounts returns how many scoped accounts the authorization file (asking) and the webhook
// configuration (writing) list. scope-sync keeps the two lists equal. They differ while it writes,
// and when it cannot write one of the files.
func Accounts(l host.Layout) (asking, writing int, err error) {
	asks, err := listed(scopelist.Authorization, l.AuthorizationConfig())
	if err != nil {
		return 0, 0, err
	}
	writes, err := listed(scopelist.Admission, l.ScopeRegistration())
	return len(asks), len(writes), err
}

// InForce reports whether a file on this host makes kube-apiserver check scoped accounts. It does
// not depend on the record.
func InForce(l host.Layout) (bool, error) {
	config, there, err := atomicfile.Read(l.AuthorizationConfig())
	return there && namesScope(config.Data) || atomicfile.Exists(l.ScopeRegistration()), err
}

func namesScope(file []byte) bool { return bytes.Contains(file, []byte(scopelist.EntryName)) }

// listed returns the accounts in one of Bulkhead's files. It returns none if the file has no list.
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

// keepAccounts copies the accounts from the file at path into file, which will replace it.
func keepAccounts(kind *scopelist.Kind, file []byte, path string) ([]byte, error) {
	accounts, err := listed(kind, path)
	if err != nil {
		return nil, err
	}
	return scopelist.Replace(kind, file, accounts)
}
