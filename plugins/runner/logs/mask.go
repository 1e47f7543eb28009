package logs

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"
)

const (
	// minMasked is the minimum length of a value that a Mask hides: shorter ones are in ordinary words.
	minMasked = 8
	// maxMasked is the maximum number of values and lines of values; further ones are not hidden.
	maxMasked = 500
	maskText  = "********"
	maskChunk = 64 << 10
)

// A Mask replaces secret values in a program's output, so that a program which prints its environment
// puts none into its log. It hides values, and each line of a value with several lines, as they are;
// it cannot hide a value that the program changes, for example by encoding it.
type Mask struct {
	values [256][][]byte // by their first bytes; the longest first
}

// NewMask makes a Mask; nil if there is nothing to hide.
func NewMask(values []string) *Mask {
	values = slices.Clone(values)
	var all []string
	add := func(line string) {
		if line = strings.Trim(line, "\r"); len(line) >= minMasked && len(all) < maxMasked && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	// Values of one line first: a certificate must not take the place of a token.
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(strings.Count(a, "\n"), strings.Count(b, "\n")) })
	for _, value := range values {
		for line := range strings.SplitSeq(value, "\n") {
			add(line)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	m := &Mask{}
	for _, v := range all {
		m.values[v[0]] = append(m.values[v[0]], []byte(v))
	}
	return m
}

// Over returns the output of r with the values replaced.
func (m *Mask) Over(r io.Reader) io.Reader {
	if m == nil {
		return r
	}
	return &masked{mask: m, from: r, buf: make([]byte, maskChunk)}
}

// masked is a reader that holds back what may be the beginning of a value.
type masked struct {
	mask  *Mask
	from  io.Reader
	buf   []byte
	held  []byte // not yet replaced
	ready []byte // replaced
	err   error
}

func (m *masked) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		n, err := m.from.Read(m.buf)
		m.held = append(m.held, m.buf[:n]...)
		m.err = err
		m.advance()
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// advance moves what is held to ready, up to what may be the beginning of a value.
func (m *masked) advance() {
	at := 0
	var out []byte
	for at < len(m.held) {
		rest := m.held[at:]
		whole, begun := m.mask.at(rest)
		switch {
		case begun && m.err == nil: // more output decides whether a value, or a longer one, follows
			m.held = append(m.held[:0], rest...)
			m.ready = out
			return
		case whole > 0:
			out = append(out, maskText...)
			at += whole
		default:
			next := m.mask.next(rest)
			out = append(out, rest[:next]...)
			at += next
		}
	}
	m.held, m.ready = m.held[:0], out
}

// at reports the length of the longest value with which text begins, and whether text could be the
// beginning of a longer one.
func (m *Mask) at(text []byte) (whole int, begun bool) {
	for _, v := range m.values[text[0]] {
		switch {
		case len(text) >= len(v):
			if whole == 0 && bytes.HasPrefix(text, v) {
				whole = len(v)
			}
		case bytes.HasPrefix(v, text):
			begun = true
		}
	}
	return whole, begun
}

// next returns the distance to the next byte, after the first, with which a value begins.
func (m *Mask) next(text []byte) int {
	for i := 1; i < len(text); i++ {
		if m.values[text[i]] != nil {
			return i
		}
	}
	return len(text)
}
