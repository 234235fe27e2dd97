// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"encoding/hex"
	"errors"
	"math/big"
	"time"
)

// Inspected is one list of a file, as [Inspect] has verified it.
type Inspected struct {
	// Issuer is the common name of the CA, and Key tells two CAs of one name apart.
	Issuer, Key string
	// Number is nil if the list has none.
	Number                 *big.Int
	ThisUpdate, NextUpdate time.Time
	Entries                int

	list *list
}

// Inspect verifies the lists of one file as the proxy does. clientCA has the certificates
// of the client CAs, PEM.
func Inspect(data, clientCA []byte, now time.Time) ([]Inspected, error) {
	found, err := decode(data)
	if err != nil {
		return nil, err
	}
	if len(found.crls) == 0 {
		return nil, errors.New("it has no CRL")
	}
	good, err := newSigners(clientCA, map[string]content{"": found}, nil).verify(found, now)
	if err != nil {
		return nil, err
	}
	inspected := make([]Inspected, 0, len(good.lists))
	for _, l := range good.lists {
		inspected = append(inspected, Inspected{
			Issuer: l.name, Key: hex.EncodeToString(l.issuer[:8]), Number: l.number,
			ThisUpdate: l.thisUpdate, NextUpdate: l.nextUpdate, Entries: len(l.revoked), list: l,
		})
	}
	return inspected, nil
}

// NewerThan compares lists of one CA: by number, or by time where they have none.
func (i Inspected) NewerThan(other Inspected) bool { return i.list.newerThan(other.list) }

// SameCA reports whether both are of the same CA.
func (i Inspected) SameCA(other Inspected) bool { return i.list.issuer == other.list.issuer }
