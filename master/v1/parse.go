package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// errSyntax means that a body is not JSON. syntaxError adds the details.
var errSyntax = errors.New("not JSON")

// parser reads a JSON text in one pass, without reading any value twice: a master reads
// hundreds of thousands of reports and log lines.
type parser struct {
	data []byte
	at   int
	made int // bytes of the values that lists, maps and pointers have needed
}

// A body may need sparseBytes, and sparseFactor bytes for each of its own: lists of empty objects would need fifty times as
// much, and so more memory than the caller was granted.
const (
	sparseBytes  = 2 << 20
	sparseFactor = 4
)

// need counts a value of n bytes that is about to be made.
func (p *parser) need(n uintptr) error {
	p.made += int(n)
	if p.made <= sparseBytes || p.made <= sparseBytes+sparseFactor*len(p.data) {
		return nil
	}
	return &mismatchError{want: "values that are mostly not empty", got: fmt.Sprintf("a body of %d bytes with too many small ones", len(p.data))}
}

// peek skips white space and returns the next byte without reading it; 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.data) {
		switch c := p.data[p.at]; c {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// value reads one value and returns its text, which is valid JSON.
func (p *parser) value() ([]byte, error) {
	switch p.peek() {
	case '"':
		return p.str()
	case '{', '[':
		return p.nested()
	}
	begin := p.at
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r', '"', '{', '[':
			return p.scalar(begin)
		}
		p.at++
	}
	return p.scalar(begin)
}

// scalar reads a number or a word.
func (p *parser) scalar(begin int) ([]byte, error) {
	raw := p.data[begin:p.at]
	if digits(raw) || json.Valid(raw) {
		return raw, nil
	}
	return nil, errSyntax
}

// digits reports whether raw is a plain whole number, which is certainly valid.
func digits(raw []byte) bool {
	if len(raw) == 0 || raw[0] == '0' && len(raw) > 1 {
		return false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// str reads a string and returns it with its quotes.
func (p *parser) str() ([]byte, error) {
	begin := p.at
	plain := true
	for p.at++; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			raw := p.data[begin:p.at]
			if !plain && !json.Valid(raw) {
				return nil, errSyntax
			}
			return raw, nil
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			return nil, errSyntax
		}
	}
	return nil, errSyntax
}

// nested reads a whole object or list.
func (p *parser) nested() ([]byte, error) {
	begin, depth := p.at, 0
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case '"':
			if _, err := p.str(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		p.at++
		if depth == 0 {
			raw := p.data[begin:p.at]
			if !json.Valid(raw) {
				return nil, errSyntax
			}
			return raw, nil
		}
	}
	return nil, errSyntax
}

// members reads an object and calls fn at each member's value, which fn must read. The name is
// valid only during the call.
func (p *parser) members(fn func(name []byte) error) error {
	p.at++
	for n := 0; ; n++ {
		c := p.peek()
		switch {
		case c == '}':
			p.at++
			return nil
		case n == 0:
		case c == ',':
			p.at++
			c = p.peek()
		default:
			return errSyntax
		}
		if c != '"' {
			return errSyntax
		}
		raw, err := p.str()
		if err != nil {
			return err
		}
		name := raw[1 : len(raw)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			s, _ := unquote(raw) // str has checked that it is valid
			name = []byte(s)
		}
		if p.peek() != ':' {
			return errSyntax
		}
		p.at++
		if err := fn(name); err != nil {
			return err
		}
	}
}
