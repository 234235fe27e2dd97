// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// cutSegment cuts a path without its first slash behind its first segment.
func cutSegment(path string) (first, rest string) {
	first, rest, _ = strings.Cut(path, "/")
	return first, rest
}

// checkPath refuses a path that two programs could read in two ways. The kubelet
// authorizes the path as it came and only then cleans it and looks for a handler
// (net/http ServeMux; pkg/kubelet/server/auth.go isSubpath).
func checkPath(path, rawPath string) *rules.Decision {
	if path == "" || path[0] != '/' {
		return pathEmptySegment
	}
	if rawPath != "" && !honestEncoding(path, rawPath) {
		return pathBytes
	}
	if !plainText(path) {
		return pathBytes
	}
	if refusal := checkSegments(path[1:]); refusal != nil {
		return refusal
	}
	if first, _ := cutSegment(path[1:]); looksAlike(first) {
		return pathLookAlike
	}
	return nil
}

// checkSegments looks at a path without its first slash. One slash at the end is
// how clients spell /pods/, /logs/ and /stats/.
func checkSegments(rest string) *rules.Decision {
	for rest != "" {
		var segment string
		segment, rest = cutSegment(rest)
		switch segment {
		case "":
			return pathEmptySegment
		case ".", "..":
			return pathDotSegment
		}
	}
	return nil
}

// honestEncoding: the path as received decodes to the path, in which no slash has
// come out of an encoding.
func honestEncoding(path, rawPath string) bool {
	if strings.Contains(rawPath, "%2f") || strings.Contains(rawPath, "%2F") {
		return false
	}
	decoded, err := url.PathUnescape(rawPath)
	return err == nil && decoded == path
}

// plainText: UTF-8 that can be printed, without a backslash and without anything that
// could be decoded once more.
func plainText(path string) bool {
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c >= 0x80:
			return plainRunes(path[i:])
		case c < ' ', c == 0x7f, c == '\\', c == '%' && encodes(path[i:]):
			return false
		}
	}
	return true
}

func plainRunes(text string) bool {
	for i, r := range text {
		// A byte that is no UTF-8 comes as the replacement character, which has no
		// business in a path either.
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '\\' || r == '%' && encodes(text[i:]) {
			return false
		}
	}
	return true
}

// encodes: the text begins with a percent-encoded byte.
func encodes(text string) bool {
	return len(text) >= 3 && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// looksAlike: the segment is not one that the kubelet has, but would be one in a
// program that ignores case, parameters, or what stands behind a name.
func looksAlike(first string) bool {
	if endpointOf(first) != &unknownEndpoint {
		return false
	}
	name := first
	if end := strings.IndexAny(first, " .;,:?#&=+%"); end >= 0 {
		name = first[:end]
	}
	for _, known := range firstSegments {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// The denials are made once, and do not change. They repeat nothing
// that the caller sent.
var (
	pathEmptySegment = deny(RulePathEmptySegment, 400, "the path must begin with a slash and have no empty segment")
	pathDotSegment   = deny(RulePathDotSegment, 400, `the path must have no segment "." or ".."`)
	pathBytes        = deny(RulePathBytes, 400,
		"the path must be printable text, encoded once, without a backslash or an encoded slash")
	pathLookAlike = deny(RulePathLookAlike, 400,
		"the path begins with what looks like an endpoint of the kubelet and is none")
	methodNotServed = deny(RuleMethodNotServed, 405, "CONNECT and TRACE are not served")
)

func deny(rule rules.ID, code int, text string) *rules.Decision {
	return &rules.Decision{Rule: rule, Code: code, Message: text}
}

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
