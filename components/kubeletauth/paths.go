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
