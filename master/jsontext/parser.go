package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrSyntax means that a text is not JSON.
var ErrSyntax = errors.New("not JSON")

// Parser reads a JSON text in one pass, without reading any value twice: a master reads
// hundreds of thousands of reports and log lines.
type Parser struct {
	data []byte
	at   int
}

// NewParser returns a parser at the beginning of a text.
func NewParser(text []byte) Parser { return Parser{data: text} }

// Len is the length of the whole text.
func (p *Parser) Len() int { return len(p.data) }

// Done reports whether nothing but white space follows.
func (p *Parser) Done() bool {
	p.Peek()
	return p.at == len(p.data)
}

// Peek skips white space and returns the next byte without reading it; 0 at the end.
func (p *Parser) Peek() byte {
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

// Value reads one value and returns its text, which is valid JSON.
func (p *Parser) Value() ([]byte, error) {
	switch p.Peek() {
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
func (p *Parser) scalar(begin int) ([]byte, error) {
	raw := p.data[begin:p.at]
	if digits(raw) || json.Valid(raw) {
		return raw, nil
	}
	return nil, ErrSyntax
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
func (p *Parser) str() ([]byte, error) {
	begin := p.at
	plain := true
	for p.at++; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			raw := p.data[begin:p.at]
			if !plain && !json.Valid(raw) {
				return nil, ErrSyntax
			}
			return raw, nil
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			return nil, ErrSyntax
		}
	}
	return nil, ErrSyntax
}

// nested reads a whole object or list.
func (p *Parser) nested() ([]byte, error) {
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
				return nil, ErrSyntax
			}
			return raw, nil
		}
	}
	return nil, ErrSyntax
}

// Members reads an object and calls fn at each member's value, which fn must read. The name is
// valid only during the call.
func (p *Parser) Members(fn func(name []byte) error) error {
	return p.each('{', '}', func() error {
		if p.Peek() != '"' {
			return ErrSyntax
		}
		raw, err := p.str()
		if err != nil {
			return err
		}
		name := raw[1 : len(raw)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			s, _ := Unquote(raw) // str has checked that it is valid
			name = []byte(s)
		}
		if p.Peek() != ':' {
			return ErrSyntax
		}
		p.at++
		return fn(name)
	})
}

// Items reads a list and calls fn at each of its values, which fn must read.
func (p *Parser) Items(fn func() error) error { return p.each('[', ']', fn) }

// each reads what is between two brackets and has commas between its parts.
func (p *Parser) each(opened, closed byte, part func() error) error {
	if p.Peek() != opened {
		return ErrSyntax
	}
	p.at++
	for n := 0; ; n++ {
		switch c := p.Peek(); {
		case c == closed:
			p.at++
			return nil
		case n == 0:
		case c == ',':
			p.at++
		default:
			return ErrSyntax
		}
		if err := part(); err != nil {
			return err
		}
	}
}

// Unquote decodes a string, with its quotes; false if the value is no string.
func Unquote(raw []byte) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 { // the common case
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}
