// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "strings"

// segments are those of the rest of a path, as many as any endpoint has. More is
// no path of the kubelet and names nothing.
type segments struct {
	part  [4]string
	count int
}

func split(rest string) segments {
	var s segments
	for rest != "" {
		if s.count == len(s.part) {
			return segments{}
		}
		s.part[s.count], rest = cutSegment(rest)
		s.count++
	}
	return s
}

// containerTarget reads {namespace}/{pod}/{container}.
func containerTarget(rest string) Target {
	s := split(rest)
	if s.count != 3 {
		return Target{}
	}
	return Target{Namespace: s.part[0], Pod: s.part[1], Container: s.part[2]}
}

// containerOrUIDTarget reads {namespace}/{pod}/{container}, or with the pod's UID
// before the container.
func containerOrUIDTarget(rest string) Target {
	s := split(rest)
	if s.count != 4 {
		return containerTarget(rest)
	}
	return Target{Namespace: s.part[0], Pod: s.part[1], UID: s.part[2], Container: s.part[3]}
}

// podTarget reads {namespace}/{pod}, or with the pod's UID behind it.
func podTarget(rest string) Target {
	switch s := split(rest); s.count {
	case 2:
		return Target{Namespace: s.part[0], Pod: s.part[1]}
	case 3:
		return Target{Namespace: s.part[0], Pod: s.part[1], UID: s.part[2]}
	}
	return Target{}
}

// logTarget reads where the kubelet keeps the logs of a pod,
// pods/{namespace}_{pod}_{UID}/{container}, of which the end may be missing
// (pkg/kubelet/kuberuntime/helpers.go BuildPodLogsDirectory). A name has no "_".
func logTarget(rest string) Target {
	folder, rest := cutSegment(rest)
	if folder != "pods" {
		return Target{}
	}
	folder, rest = cutSegment(rest)
	namespace, folder, isPod := strings.Cut(folder, "_")
	pod, uid, hasUID := strings.Cut(folder, "_")
	if !isPod || !hasUID {
		return Target{}
	}
	container, _ := cutSegment(rest)
	return Target{Namespace: namespace, Pod: pod, UID: uid, Container: container}
}
