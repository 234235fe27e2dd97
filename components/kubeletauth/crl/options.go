// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// What becomes of the certificates of an issuer whose list has expired.
const (
	Refuse = "refuse"
	Allow  = "allow"
)

// Options are the flags about revocation, as given.
type Options struct {
	// CRL are files or folders.
	CRL     []string
	Expired string
	// State is a folder that this process alone writes to; empty for none.
	State string
	// IDs is the file with revoked credential IDs; empty for none.
	IDs string
}

// DefaultOptions have no lists.
func DefaultOptions() Options { return Options{Expired: Refuse} }

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.CRL, "client-crl", o.CRL,
		"Files or folders with certificate revocation lists of the client CA, PEM or DER, and with certificates of "+
			"intermediate CAs, PEM. Read again when they change. Replace files by renaming; those whose names begin with a "+
			"dot, and "+revocationlist.IDsKey+", are left out.")
	fs.StringVar(&o.State, "client-crl-state", o.State,
		"Folder in which the newest list of each CA is kept, so that an older list is not taken after a restart. No other "+
			"process may write to it. Without it, a restart forgets which list was the newest.")
	fs.StringVar(&o.IDs, "revoked-credentials", o.IDs,
		"File with the IDs of revoked credentials, one a line: X509SHA256=<SHA-256 of a client certificate> or JTI=<ID of "+
			"a token>. Read again when it changes. Without the file, no ID is revoked. A file with a mistake gives no access "+
			"back.")
	fs.StringVar(&o.Expired, "client-crl-expired", o.Expired,
		"What becomes of the certificates of a CA whose list has expired: refuse, so that nobody gains by holding back a "+
			"list, or allow those that the old list does not name. With refuse, a list that is not renewed in time shuts out "+
			"the API server too.")
}

// Validate reports every problem, not only the first.
func (o *Options) Validate() []error {
	var problems []error
	if o.Expired != Refuse && o.Expired != Allow {
		problems = append(problems, fmt.Errorf("--client-crl-expired is %q, want %s or %s", o.Expired, Refuse, Allow))
	}
	if o.State != "" && len(o.CRL) == 0 {
		problems = append(problems, errors.New("--client-crl-state needs --client-crl"))
	}
	return problems
}
