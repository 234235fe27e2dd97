// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopelist reads and replaces the list of accounts whose requests an API server
// sends to node scope, in the two files that say so:
//
//   - the AuthorizationConfiguration, in the match condition of its entry [EntryName];
//   - a ValidatingWebhookConfiguration from disk, in that of its webhook [EntryName].
//
// Both are templates of the installer. Here nothing but the list between the brackets of
// one expression changes: what is around it, comments and order included, stays byte for
// byte. A file that is not such a template in any respect that matters is an error, and
// nothing is written over it: whoever may write these files may do anything in the
// cluster, so what cannot be understood is left to a person.
//
// # The expression is total
//
// With failurePolicy Deny an error in a match condition refuses everybody. Both
// expressions ask whether there is a user name before they look at it, and "in" has a
// value for every list, the empty one included, for which it is false. The names in it
// are those of Kubernetes objects, which hold nothing that could end a string.
package scopelist
