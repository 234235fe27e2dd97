// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// digestLength is that of a digest in bytes: long enough that no tenant finds two values
// with the same one.
const digestLength = 16

// DigestOfAccount identifies what the annotations of a ServiceAccount say of node scope. It
// is empty if they say nothing.
func DigestOfAccount(annotations map[string]string) string {
	sum, says := sha256.New(), false
	for _, key := range []string{nodescope.ScopeAnnotation, nodescope.ExemptionsAnnotation, nodescope.ModeAnnotation} {
		value, there := annotations[key]
		if says = says || there; there {
			addPart(sum, key)
			addPart(sum, value)
		}
	}
	if !says {
		return ""
	}
	return encodeSum(sum)
}

// DigestOfPod identifies what a pod's annotation says.
func DigestOfPod(value string) string {
	sum := sha256.New()
	addPart(sum, value)
	return encodeSum(sum)
}

// Digest identifies what an account and its pods say together, from their own digests. It
// is empty if none of them says anything.
func Digest(account string, pods map[string]struct{}) string {
	if account == "" && len(pods) == 0 {
		return ""
	}
	sum := sha256.New()
	addPart(sum, account)
	for _, pod := range slices.Sorted(maps.Keys(pods)) {
		addPart(sum, pod)
	}
	return encodeSum(sum)
}

// addPart writes the length first, so that two parts are never read as two others.
func addPart(sum hash.Hash, part string) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
	_, _ = sum.Write([]byte(part))
}

func encodeSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:digestLength]) }
