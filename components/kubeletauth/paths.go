// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// cutSegment splits a path, given without its first slash, after its first segment.
func cutSegment(path string) (first, rest string) {
	first, rest, _ = strings.Cut(path, "/")
	return first, rest
}

// checkPath denies a path that two programs could interpret differently. The kubelet authorizes the
// path as received. Only later it cleans the path and selects a handler (net/http ServeMux;
// pkg/kubelet/server/auth.go isSubpath).
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

// checkSegments checks a path, given without its first slash. It accepts one slash at the end,
// because clients request /pods/, /logs/ and /stats/.
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

// honestEncoding reports whether the path as received decodes to path, and contains no encoded
// slash.
func honestEncoding(path, rawPath string) bool {
	if strings.Contains(rawPath, "%2f") || strings.Contains(rawPath, "%2F") {
		return false
	}
	decoded, err := url.PathUnescape(rawPath)
	return err == nil && decoded == path
}

// plainText reports whether the path is printable UTF-8, without a backslash, and without a
// sequence that could be decoded a second time.
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
		// An invalid UTF-8 byte becomes the replacement character. A path must not contain that
		// character either.
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '\\' || r == '%' && encodes(text[i:]) {
			return false
		}
	}
	return true
}

// encodes reports whether text begins with a percent-encoded byte.
func encodes(text string) bool {
	return len(text) >= 3 && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// looksAlike reports whether the segment is not an endpoint of the kubelet, but would be one in a
// program that ignores case, parameters, or a suffix.
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

// The denials are created once, and are immutable. They contain nothing from the request.
var (
	pathEmptySegment = deny(RulePathEmptySegment, 400, "the path must begin with a slash and have no empty segment")
	pathDotSegment   = deny(RulePathDotSegment, 400, `the path must have no segment "." or ".."`)
	pathBytes        = deny(RulePathBytes, 400,
		"the path must be printable text, encoded once, without a backslash or an encoded slash")
	pathLookAlike = deny(RulePathLookAlike, 400,
		"the path begins with what looks like an endpoint of the kubelet and is none")
	componentOnlyRead = deny(RuleComponents, 405, "metrics of a component can only be read: use GET or HEAD")
	methodNotServed   = deny(RuleMethodNotServed, 405, "CONNECT and TRACE are not served")
)

func deny(rule rules.ID, code int, text string) *rules.Decision {
	return &rules.Decision{Rule: rule, Code: code, Message: text}
}

// segments are the segments in the rest of a path, at most as many as any endpoint has. A longer
// path is not a path of the kubelet. Then segments is empty.
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

// containerTarget parses {namespace}/{pod}/{container}.
func containerTarget(rest string) Target {
	s := split(rest)
	if s.count != 3 {
		return Target{}
	}
	return Target{Namespace: s.part[0], Pod: s.part[1], Container: s.part[2]}
}

// containerOrUIDTarget parses {namespace}/{pod}/{container} or {namespace}/{pod}/{uid}/{container}.
func containerOrUIDTarget(rest string) Target {
	s := split(rest)
	if s.count != 4 {
		return containerTarget(rest)
	}
	return Target{Namespace: s.part[0], Pod: s.part[1], UID: s.part[2], Container: s.part[3]}
}

// podTarget parses {namespace}/{pod} or {namespace}/{pod}/{uid}.
func podTarget(rest string) Target {
	switch s := split(rest); s.count {
	case 2:
		return Target{Namespace: s.part[0], Pod: s.part[1]}
	case 3:
		return Target{Namespace: s.part[0], Pod: s.part[1], UID: s.part[2]}
	}
	return Target{}
}

// logTarget parses the path of a pod's log, pods/{namespace}_{pod}_{UID}/{container}. The end may
// be missing (pkg/kubelet/kuberuntime/helpers.go BuildPodLogsDirectory). Namespaces and names
// contain no "_".
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
