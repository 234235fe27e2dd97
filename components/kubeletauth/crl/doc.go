// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package crl refuses client certificates that a certificate revocation list
// (CRL, RFC 5280 section 5) names.
//
// Lists are PEM or DER, in one file or in the files of a folder, and are followed when
// they change. A list counts only if a client CA signed it, or an intermediate CA whose
// certificate lies in PEM beside the lists and which a client CA vouches for. A file
// that cannot be used leaves the last good one of its name in use. The newest list of
// an issuer decides, and goes on to do so when it is taken away or an older one is put
// in its place. With a state folder, it does so after a restart, too: the folder has the
// newest list of each issuer, and because the issuer has signed it, nobody has to vouch for
// the folder. To stop using a list for good, take its CA out of the client CAs, or delete
// its file in the state folder and restart the program. An issuer without a list revokes
// nothing.
//
// Every certificate of a chain is looked for in the list of its own issuer, and in those
// of other names that the issuer's key has. Where CAs have signed each other, a client
// can have several chains, and one revoked certificate in any of them refuses it.
//
// A list whose time for the next one has passed says nothing about what was revoked
// since. Unless told otherwise, certificates of its issuer are refused then: lists
// have to be renewed in time, and the metrics tell when.
//
// Refused are lists that speak of a part only: delta lists, and those with an issuing
// distribution point, indirect ones among them. Unlike RFC 5280 section 6.3.3 (f), the
// CA may lack key usage cRLSign: those that kubeadm makes do, and the same key signs
// all certificates.
//
// [IDs] are revoked credentials by their IDs, of client certificates and of tokens. They
// need no CA's key, and are not protected against an older list.
package crl
