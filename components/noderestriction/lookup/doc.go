// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package lookup reads the objects that the rules of noderestriction need, besides the object that
// is written. It reads the current state of the API server.
//
// # Lookups are live
//
// There is no informer. Every lookup is a read that begins after the lookup was requested. The read
// has no resource version, so it is as consistent as the API server's storage. The package does not
// need to cache a hundred thousand pods, and its view is never stale.
//
// There are three exceptions:
//
//   - The node that a pod is bound to never changes. It is cached for the [MaxBound] pods that were
//     used most recently. The cache takes less than 20 MB.
//   - A CSIDriver is cached for a few seconds. Administrators change it about once a year.
//   - CertificateSigningRequests are counted about every 30 s, because no selector exists for the
//     user who created them.
//
// # Costs
//
// A lookup takes at most one second. Then it returns an error. Lookups of the same object share
// reads: a lookup joins the next read that has not begun yet. For each object, at most one read
// runs and at most one waits. So many requests about the same name cause only one read after the
// other. A read is canceled when no request waits for it. So there are never more reads than
// requests being decided, and the transport limits those.
//
// Lists are used to count, to find the pods of a node, and to find the users of a device pool. They
// are read in pages. Where it is enough, they fetch only metadata or table columns. A list ends at
// the requested limit or at [MaxCounted] objects. Only a few lists run at the same time.
package lookup
