// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopesync keeps the API server of its host asking about the accounts that have a
// scope, and about nobody else: it keeps the two lists of scopelist what the annotations
// in the cluster say.
//
// # One turn
//
// Every two seconds, both files are looked at. What the cluster says differently from
// their lists is put into them, all of it at once: so however many annotations come
// together, a file is written at most once in that time. Then the server's metrics are
// asked which files it has loaded, and what came of it is told: in the record of this
// host (scopestate), in events, in the heartbeat.
//
// # Never narrower than the cluster
//
// An account that is in a list is held to its nodes; one that is not is not. So:
//
//   - Nothing is written before every ServiceAccount and pod has been seen, and while
//     nothing has been heard of them for a while. The lists that are there hold.
//   - An account leaves a list only after it and its pods were read live: neither it nor
//     any of its pods is annotated, and if it was deleted none of its pods is left, for
//     their tokens may be accepted for a moment more.
//   - Of more accounts than there is room for, those within the share of their namespace
//     have a place ([scopelist.Fit]). An account beyond the share leaves at once: it has a
//     scope, and another namespace needs the room. It is told so by an event.
//   - A file is validated with the API server's own loaders before it is written, and one
//     that is not as it should be is left to a person.
//
// # Live
//
// A server tells by a hash which file it has loaded. The list of the file that has that
// hash is the one in force: not the one on the disk, not the one that was written last.
// If no file with that hash was seen, nobody can tell, and every account is pending.
//
// And the component that the server asks must have seen what the annotations say now: each
// is asked which resource versions it has seen (package seen). A component whose watch has
// stalled decides by older annotations, and the account is pending.
//
// If only words around the list change, the server may go on telling the hash of before:
// it compares what files say, not their bytes. Accounts are shown as pending then, until
// the list changes or the server starts again, if this process has started since.
package scopesync
