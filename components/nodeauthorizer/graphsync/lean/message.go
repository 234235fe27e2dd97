// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// message describes which fields of one kind of message are used.
type message struct {
	// begins is the required prefix of a message. A message with another prefix is kept unchanged.
	begins []byte
	// fields are the used fields, by field number.
	fields []*message
	// needs has one bit for each required field. A message without any of these fields is dropped.
	// 0 means that no field is required.
	needs uint64
	// mentions lists byte strings. A message that contains none of them is dropped. An empty list
	// means no condition.
	mentions [][]byte
}

// whole is a field that is kept completely.
var whole = &message{}

// The wire types of fields. The two others, for groups, are deprecated.
const (
	varint  = 0
	fixed64 = 1
	counted = 2
	fixed32 = 5
)

// keep appends the used part of the message to out. kept is false if the message is not needed at
// all. understood is false if the API's decoder might read some part of the message differently
// than this package. Then the whole message must be kept.
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

// field is one field of a message. all is the complete field. For a length-delimited field, length
// is the offset of its length and content is the offset of its content.
type field struct {
	number, kind    uint64
	all             []byte
	length, content int
}

// keep appends the used part of the field. If the content gets shorter, its length keeps the same
// number of bytes. So the length can be written after the content is known.
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

// putLength writes n as a varint that fills room exactly. Each byte before the last one has the
// continuation bit, even if the rest of n is 0.
func putLength(room []byte, n uint64) {
	for i := range room {
		room[i] = byte(n) | 0x80
		n >>= 7
	}
	room[len(room)-1] &= 0x7f
}

// next returns the first field. The second result is false if the field is truncated, is a group,
// or has an encoding that no encoder produces.
func next(in []byte) (field, bool) {
	tag, n := binary.Uvarint(in)
	f := field{number: tag >> 3, kind: tag & 7, length: n}
	// The API's decoder truncates field numbers to 32 bits.
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
