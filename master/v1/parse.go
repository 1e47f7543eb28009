package v1

import (
	"bytes"
	"encoding/json"
	"errors"
)

// errSyntax means that a body is not JSON. syntaxError words it.
var errSyntax = errors.New("not JSON")

// parser walks over a JSON text once. Reports and log lines come by the hundred
// thousand, and a parser that knows where each value ends needs no second look.
type parser struct {
	data []byte
	at   int
}

// peek passes white space and returns the byte after it; 0 at the end.
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

// value passes one value and returns its text, which is valid JSON.
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

// scalar checks a number or a word.
func (p *parser) scalar(begin int) ([]byte, error) {
	raw := p.data[begin:p.at]
	if digits(raw) || json.Valid(raw) {
		return raw, nil
	}
	return nil, errSyntax
}

// digits is true for whole numbers as they mostly are: valid without a closer look.
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

// str passes a string and returns it with its quotes.
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

// nested passes an object or a list as a whole.
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

// members passes an object and calls fn at each member's value, which fn must
// pass. The name is only good until then.
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
			s, _ := unquote(raw) // it is valid: str has looked
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
