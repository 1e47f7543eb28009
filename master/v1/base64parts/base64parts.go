// Package base64parts decodes base64 in parts of any size, in either alphabet, with or without padding. It is pure.
package base64parts

import (
	"bytes"
	"encoding/base64"
)

// A Decoder decodes one text.
type Decoder struct {
	to    func([]byte) error
	plain []byte
	carry [4]byte
	kept  int // of carry
	pads  int
	bad   error
}

// New returns a decoder that gives the bytes to a function, through a buffer, and returns bad for what is not base64.
func New(buffer []byte, to func([]byte) error, bad error) *Decoder {
	return &Decoder{to: to, plain: buffer, bad: bad}
}

// Add decodes a part.
func (d *Decoder) Add(p []byte) error {
	if i := bytes.IndexByte(p, '='); i >= 0 || d.pads > 0 {
		if d.pads > 0 {
			i = 0
		}
		for _, c := range p[i:] {
			if d.pads++; c != '=' || d.pads > 2 {
				return d.bad
			}
		}
		p = p[:i]
	}
	for len(p) > 0 {
		if d.kept > 0 || len(p) < 4 {
			n := copy(d.carry[d.kept:], p)
			d.kept += n
			p = p[n:]
			if d.kept < 4 {
				return nil
			}
			d.kept = 0
			if err := d.decode(d.carry[:]); err != nil {
				return err
			}
			continue
		}
		n := min(len(p)/4*4, len(d.plain)/3*4)
		if err := d.decode(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (d *Decoder) decode(p []byte) error {
	n, err := base64.RawStdEncoding.Decode(d.plain, p)
	if err != nil || n < len(p)*3/4 { // fewer bytes if the text contains line breaks
		n, err = base64.RawURLEncoding.Decode(d.plain, p)
	}
	if err != nil || n < len(p)*3/4 {
		return d.bad
	}
	return d.to(d.plain[:n])
}

// End decodes the remaining characters.
func (d *Decoder) End() error {
	if d.kept == 1 || d.pads > 0 && (d.kept+d.pads)%4 != 0 {
		return d.bad
	}
	if d.kept == 0 {
		return nil
	}
	return d.decode(d.carry[:d.kept])
}
