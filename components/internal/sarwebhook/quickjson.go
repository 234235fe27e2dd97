// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import "bytes"

// quick parses data in one pass. A method returns false if it finds a form that it does not know.
// After that, no other method may be called.
type quick struct {
	data []byte
	at   int
}

// next skips white space and consumes the character c. It returns false if the next character is
// not c.
func (r *quick) next(c byte) bool {
	r.space()
	if r.at == len(r.data) || r.data[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *quick) space() {
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case ' ', '\t', '\r', '\n':
		default:
			return
		}
	}
}

// atEnd reports whether only white space remains.
func (r *quick) atEnd() bool {
	r.space()
	return r.at == len(r.data)
}

// object calls member for every field of an object. member must consume the value and return true,
// or return false. key is valid until member returns.
func (r *quick) object(member func(key []byte) bool) bool {
	if !r.next('{') {
		return false
	}
	if r.next('}') {
		return true
	}
	for {
		key, ok := r.literal()
		if !ok || !r.next(':') || !member(key) {
			return false
		}
		if r.next('}') {
			return true
		}
		if !r.next(',') {
			return false
		}
	}
}

// list calls element for every element of a non-empty list.
func (r *quick) list(element func() bool) bool {
	if !r.next('[') {
		return false
	}
	for element() {
		if r.next(']') {
			return true
		}
		if !r.next(',') {
			return false
		}
	}
	return false
}

// literal returns the bytes of a string without escapes.
func (r *quick) literal() ([]byte, bool) {
	if !r.next('"') {
		return nil, false
	}
	start := r.at
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return r.data[start : r.at-1], true
		case c == '\\' || c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

func (r *quick) is(want string) bool {
	found, ok := r.literal()
	return ok && string(found) == want
}

func (r *quick) text(out *string) bool {
	found, ok := r.literal()
	*out = common(found)
	return ok
}

func (r *quick) texts(out *[]string) bool {
	return r.list(func() bool {
		var text string
		ok := r.text(&text)
		*out = append(*out, text)
		return ok
	})
}

// skip consumes a value without decoding it.
func (r *quick) skip(depth int) bool {
	if depth == 0 {
		return false
	}
	r.space()
	switch {
	case r.at == len(r.data):
		return false
	case r.data[r.at] == '"':
		_, ok := r.literal()
		return ok
	case r.data[r.at] == '{':
		return r.object(func([]byte) bool { return r.skip(depth - 1) })
	}
	return r.word("null") || r.word("false") || r.word("true")
}

func (r *quick) word(word string) bool {
	if !bytes.HasPrefix(r.data[r.at:], []byte(word)) {
		return false
	}
	r.at += len(word)
	return true
}

// commonTexts are strings that occur in most reviews.
var commonTexts = commonly(
	"get", "list", "watch", "create", "update", "patch", "v1",
	"pods", "secrets", "configmaps", "nodes", "leases", "events", "serviceaccounts", "token", "status",
	"coordination.k8s.io", "kube-node-lease", "system:nodes", "system:authenticated",
	"authentication.kubernetes.io/credential-id",
)

func commonly(texts ...string) map[string]string {
	known := make(map[string]string, len(texts))
	for _, text := range texts {
		known[text] = text
	}
	return known
}

// common converts bytes to a string. It does not copy common strings.
func common(b []byte) string {
	if known, ok := commonTexts[string(b)]; ok {
		return known
	}
	return string(b)
}
