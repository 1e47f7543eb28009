// Package wire reads messages of protocol buffers without their descriptions, for files of other programs of which det needs a few fields. It
// is pure, allocates nothing, and reads each byte once, so that a message costs no more than its length.
package wire

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrDamaged is the error of bytes that are no message.
var ErrDamaged = errors.New("is no message of protocol buffers")

// A Field is one field of a message, with its number. Text has the bytes of a text, of bytes or of a message in it; Bits has the value of a number.
type Field struct {
	Number int
	Text   []byte
	Bits   uint64
	kind   byte
}

const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
	fixed32 = 5
)

// Int is the value of an integer, which may be negative.
func (f Field) Int() int64 { return int64(f.Bits) }

// True reports whether the field is the truth value true.
func (f Field) True() bool { return f.Bits != 0 }

// Float is the value of a float or a double.
func (f Field) Float() float64 {
	if f.kind == fixed32 {
		return float64(math.Float32frombits(uint32(f.Bits)))
	}
	return math.Float64frombits(f.Bits)
}

// Each calls fn with the fields of a message in their order, and stops at an error.
func Each(message []byte, fn func(Field) error) error {
	for len(message) > 0 {
		f, rest, ok := next(message)
		if !ok {
			return ErrDamaged
		}
		if err := fn(f); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// next takes the first field off a message. Groups, which no writer has used for long, count as damage.
func next(message []byte) (f Field, rest []byte, ok bool) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return f, nil, false
	}
	message = message[n:]
	f.Number, f.kind = int(tag>>3), byte(tag&7)
	switch f.kind {
	case varint:
		if f.Bits, n = binary.Uvarint(message); n <= 0 {
			return f, nil, false
		}
	case fixed64:
		if n = 8; len(message) < n {
			return f, nil, false
		}
		f.Bits = binary.LittleEndian.Uint64(message)
	case fixed32:
		if n = 4; len(message) < n {
			return f, nil, false
		}
		f.Bits = uint64(binary.LittleEndian.Uint32(message))
	case bytes:
		size, width := binary.Uvarint(message)
		if width <= 0 || size > uint64(len(message)-width) {
			return f, nil, false
		}
		n = width + int(size)
		f.Text = message[width:n]
	default:
		return f, nil, false
	}
	return f, message[n:], true
}

// Only is the value of a repeated number that must have one: packed in the bytes of the field, or as the field itself.
func (f Field) Only(width int) (Field, bool) {
	if f.kind != bytes {
		return f, true
	}
	switch {
	case width == 4 && len(f.Text) == 4:
		return Field{Number: f.Number, Bits: uint64(binary.LittleEndian.Uint32(f.Text)), kind: fixed32}, true
	case width == 8 && len(f.Text) == 8:
		return Field{Number: f.Number, Bits: binary.LittleEndian.Uint64(f.Text), kind: fixed64}, true
	case width == 0:
		v, n := binary.Uvarint(f.Text)
		return Field{Number: f.Number, Bits: v}, n > 0 && n == len(f.Text)
	}
	return f, false
}
