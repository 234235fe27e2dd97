// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package crl denies client certificates that a certificate revocation list (CRL, RFC 5280 section
// 5) contains.
//
// Lists are PEM or DER, in one file or in the files of a folder. They are reloaded when they
// change. A list counts only if a client CA signed it, or an intermediate CA below a client CA. The
// certificate of such an intermediate CA must be in PEM beside the lists. If a file cannot be used,
// the last valid version of that file stays in use.
//
// The newest list of an issuer is in force. It stays in force if its file is removed or replaced by
// an older list. With a state folder, it also stays in force after a restart: the folder contains
// the newest list of each issuer. The issuer has signed each list, so the folder need not be
// trusted. An issuer without a list revokes nothing. There are two ways to stop the use of a list
// permanently: remove its CA from the client CAs, or delete its file in the state folder and
// restart the program.
//
// Every certificate of a chain is checked against the list of its own issuer, and against the lists
// for other names with the issuer's key. If CAs have signed each other, a client can have several
// chains. One revoked certificate in any of them denies the client.
//
// An expired list (nextUpdate has passed) says nothing about later revocations. By default,
// certificates of its issuer are denied then. So lists must be renewed in time. The metrics show
// when they expire.
//
// Partial lists are rejected: delta lists, and lists with an issuing distribution point, including
// indirect lists. Unlike RFC 5280 section 6.3.3 (f), the CA may lack key usage cRLSign. CAs made by
// kubeadm lack it, and the same key signs all certificates.
//
// [IDs] are revoked credentials by their IDs, of client certificates and of tokens. They need no
// CA's key, and have no protection against an older list.
package crl
