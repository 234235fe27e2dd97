// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopesync keeps two lists of accounts in files of one API server current. The lists
// name the accounts with a scope. The API server calls node scope for the accounts in the lists
// and for no other account. Package scopelist describes the lists.
//
// # One turn
//
// Every two seconds, scope-sync reads both files. If a list differs from the annotations in the
// cluster, scope-sync replaces the list, with all changes at once. So it writes a file at most
// once in that time, however many annotations change. Then it reads from the metrics of the
// server which files the server has loaded. It reports the result in the record of this host
// ([scopelist.Record]), in events and in the heartbeat.
//
// # An account with a scope stays listed
//
// An account in a list is limited to its nodes. An account outside the list is not. So:
//
//   - scope-sync writes nothing until it has seen every ServiceAccount and pod, and while its
//     watches are not current. The existing lists stay in force.
//   - An account is removed only after scope-sync has read it and its pods from the API server,
//     without a cache. Neither the account nor one of its pods may be annotated. If the account
//     was deleted, none of its pods may exist, because the API server may accept their tokens
//     for a moment more.
//   - If there are too many accounts, the accounts within the share of their namespace are
//     listed ([scopelist.Fit]). An account beyond the share is removed at once: another
//     namespace needs the room. The account still has a scope, so it gets an event.
//   - Before a file is written, it is validated with the API server's own loaders. A file that
//     is not in the expected form is not changed: an administrator must repair it.
//
// # Live accounts
//
// A server reports the hash of the file that it has loaded. The list in force is the list of
// the file with that hash. It may differ from the file on disk, and from the file that
// scope-sync wrote last. If scope-sync has seen no file with that hash, the list in force is
// not known, and every account is pending.
//
// The component that the server calls must also have seen the current annotations. scope-sync
// asks each component which resource versions it has seen ([SeenClient]). If the watch of a
// component has stalled, the component decides by older annotations, and the account is
// pending.
//
// If only the text around the list changes, the server may continue to report the earlier hash:
// it compares the contents of files, not their bytes. If scope-sync has restarted since, it
// shows accounts as pending until the list changes or the server restarts.
package scopesync
