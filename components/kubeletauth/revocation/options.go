// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package revocation

import (
	"fmt"

	"github.com/spf13/pflag"
)

// What becomes of the certificates of an issuer whose list has expired.
const (
	Refuse = "refuse"
	Allow  = "allow"
)

// Options are the flags about revocation, as given.
type Options struct {
	// CRL is a file or a folder; empty for none.
	CRL     string
	Expired string
}

// DefaultOptions have no lists.
func DefaultOptions() Options { return Options{Expired: Refuse} }

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.CRL, "client-crl", o.CRL, "File or folder with certificate revocation lists of the client CA, PEM or DER, and with certificates of intermediate CAs, PEM. Read again when they change. Replace files by renaming; those whose names begin with a dot are left out.")
	fs.StringVar(&o.Expired, "client-crl-expired", o.Expired, "What becomes of the certificates of a CA whose list has expired: refuse, so that nobody gains by holding back a list, or allow those that the old list does not name. With refuse, a list that is not renewed in time shuts out the API server too.")
}

// Validate reports every problem, not only the first.
func (o *Options) Validate() []error {
	if o.Expired != Refuse && o.Expired != Allow {
		return []error{fmt.Errorf("--client-crl-expired is %q, want %s or %s", o.Expired, Refuse, Allow)}
	}
	return nil
}
