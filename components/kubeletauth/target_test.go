// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "testing"

func TestTarget(t *testing.T) {
	container := Target{Namespace: "ns", Pod: "pod", Container: "c"}
	withUID := Target{Namespace: "ns", Pod: "pod", UID: "uid", Container: "c"}
	for _, tc := range []struct {
		path string
		want Target
	}{
		{"/exec/ns/pod/c", container},
		{"/exec/ns/pod/c/", container},
		{"/exec/ns/pod/uid/c", withUID},
		{"/exec/ns/pod", Target{}},
		{"/exec/ns/pod/uid/c/d", Target{}},
		{"/exec", Target{}},
		{"/attach/ns/pod/uid/c", withUID},
		{"/run/ns/pod/c", container},
		{"/containerLogs/ns/pod/c", container},
		{"/containerLogs/ns/pod/uid/c", Target{}},
		{"/checkpoint/ns/pod/c", container},
		{"/portForward/ns/pod", Target{Namespace: "ns", Pod: "pod"}},
		{"/portForward/ns/pod/uid", Target{Namespace: "ns", Pod: "pod", UID: "uid"}},
		{"/portForward/ns", Target{}},
		{"/portForward/ns/pod/uid/c", Target{}},
		{"/allocatedPods/ns/pod/uid", Target{Namespace: "ns", Pod: "pod", UID: "uid"}},
		{"/allocatedPods", Target{}},
		{"/logs/pods/ns_pod_uid/c/0.log", withUID},
		{"/logs/pods/ns_pod_uid", Target{Namespace: "ns", Pod: "pod", UID: "uid"}},
		{"/logs/pods/ns_pod", Target{}},
		{"/logs/pods/", Target{}},
		{"/logs/containers/ns_pod_uid/c/0.log", Target{}},
		{"/pods/ns/pod/c", Target{}},
		{"/a/ns/pod/c", Target{}},
	} {
		for _, mode := range []Mode{Compat, Strict} {
			got, refusal := mode.Map(Request{Method: "POST", Path: tc.path})
			if refusal != nil || got.Target != tc.want {
				t.Errorf("%s, %v: %+v (%+v), want %+v", tc.path, mode, got.Target, refusal, tc.want)
			}
		}
	}
}
