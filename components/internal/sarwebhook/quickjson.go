// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import "bytes"

// quick goes through data once. Its methods are false where they find what they do
// not know; nothing may be asked of it after that.
type quick struct {
	data []byte
	at   int
}

// next takes the white space in front of a character, and the character if it is
// that one.
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

// atEnd is true if nothing but white space follows.
func (r *quick) atEnd() bool {
	r.space()
	return r.at == len(r.data)
}

// object asks about every member, whose value the answer has taken if it is true.
// Key is valid until then.
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

// list asks for every element of a list that has any.
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

// literal is what is between quotes, if it stands for itself.
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

// skip takes a value that is not read.
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

// commonTexts are what most reviews have somewhere.
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

// common is the string of the bytes. It allocates none for what is common.
func common(b []byte) string {
	if known, ok := commonTexts[string(b)]; ok {
		return known
	}
	return string(b)
}
