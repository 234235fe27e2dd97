// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// message says what is read of one kind of message.
type message struct {
	// begins is what a message has to begin with. Any other is kept as it is.
	begins []byte
	// fields are those that are read, by number.
	fields []*message
	// needs has the bit of each field of which a message must have at least one.
	// Without, it is left out. 0 asks for nothing.
	needs uint64
	// mentions lists words of which a message has to have one somewhere in it.
	// Without, it is left out. An empty list asks for nothing.
	mentions [][]byte
}

// whole is a field of which all is read.
var whole = &message{}

// The types of fields on the wire. The two others, groups, are no longer in use.
const (
	varint  = 0
	fixed64 = 1
	counted = 2
	fixed32 = 5
)

// keep appends what is read of the message to out. Kept is false if nothing of it
// is needed. Understood is false if it has something in it that the API's decoder
// might take for what this one does not: all of it has to be kept then.
func (m *message) keep(out, in []byte) (_ []byte, kept, understood bool) {
	if m == whole || !bytes.HasPrefix(in, m.begins) {
		return append(out, in...), true, true
	}
	if !m.isMentioned(in) {
		return out, false, true
	}
	out, in = append(out, m.begins...), in[len(m.begins):]
	var seen uint64
	for len(in) > 0 {
		f, ok := next(in)
		if !ok {
			return out, false, false
		}
		in = in[len(f.all):]
		read := m.field(f.number)
		if read == nil {
			continue
		}
		var kept bool
		if out, kept, ok = f.keep(out, read); !ok {
			return out, false, false
		}
		if kept {
			seen |= 1 << f.number
		}
	}
	return out, m.needs == 0 || seen&m.needs != 0, true
}

func (m *message) isMentioned(in []byte) bool {
	return len(m.mentions) == 0 ||
		slices.ContainsFunc(m.mentions, func(word []byte) bool { return bytes.Contains(in, word) })
}

func (m *message) field(number uint64) *message {
	if number < uint64(len(m.fields)) {
		return m.fields[number]
	}
	return nil
}

// field is one of a message: all of it, and where its content begins if it is
// counted, which is where its length ends.
type field struct {
	number, kind    uint64
	all             []byte
	length, content int
}

// keep appends what is read of the field. A message that has become shorter keeps a
// length of as many bytes, so that it can be written when the content is known.
func (f *field) keep(out []byte, read *message) (_ []byte, kept, understood bool) {
	if read == whole || f.kind != counted {
		return append(out, f.all...), true, true
	}
	start := len(out)
	out = append(out, f.all[:f.content]...)
	begin := len(out)
	out, kept, understood = read.keep(out, f.all[f.content:])
	if !kept || !understood {
		return out[:start], kept, understood
	}
	putLength(out[start+f.length:begin], uint64(len(out)-begin)) //nolint:gosec // not negative
	return out, true, true
}

// putLength fills the room with a number. Bytes in front of the last one say that
// there are more, even if those are 0.
func putLength(room []byte, n uint64) {
	for i := range room {
		room[i] = byte(n) | 0x80
		n >>= 7
	}
	room[len(room)-1] &= 0x7f
}

// next is the first field. It is not understood if it is cut off, a group, or
// written as no encoder writes it.
func next(in []byte) (field, bool) {
	tag, n := binary.Uvarint(in)
	f := field{number: tag >> 3, kind: tag & 7, length: n}
	// The API's decoder cuts numbers off at 32 bits.
	if n <= 0 || tag > 1<<31 || f.number == 0 {
		return f, false
	}
	size := uint64(0)
	switch f.kind {
	case varint:
		_, m := binary.Uvarint(in[n:])
		if m <= 0 {
			return f, false
		}
		n += m
	case fixed64:
		size = 8
	case fixed32:
		size = 4
	case counted:
		var m int
		if size, m = binary.Uvarint(in[n:]); m <= 0 {
			return f, false
		}
		n += m
	default:
		return f, false
	}
	if size > uint64(len(in)-n) { //nolint:gosec // not negative
		return f, false
	}
	f.content = n
	f.all = in[:n+int(size)]
	return f, true
}
