package term

import (
	"bytes"
	"io"
	"sync"
)

// A Safe writer passes text and colours to a terminal, and removes all sequences by which text
// of other users, such as a log line or a name, could set the window's title, move the cursor,
// or make the terminal answer as if the user had typed.
//
// A sequence may arrive in parts, so the writer keeps its state between calls.
type Safe struct {
	to io.Writer

	mu    sync.Mutex
	state int
	seq   []byte // bytes of a sequence that may set a colour
	rest  int    // remaining bytes of a UTF-8 character
}

// NewSafe makes a writer.
func NewSafe(to io.Writer) *Safe { return &Safe{to: to} }

const (
	inText = iota
	afterEscape
	inSequence // ESC [
	inString   // ESC ] and others, to BEL or ESC \
	stringEnds // ESC within it
	inCharset  // ESC ( and others: one more byte
	afterC2    // the first byte of U+0080 to U+00BF: those to U+009F are controls
)

// maxPaint is the maximum length of a colour sequence.
const maxPaint = 64

const (
	esc = 0x1b
	bel = 0x07
	del = 0x7f
)

// Write passes harmless bytes on.
func (s *Safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]byte, 0, len(p))
	for _, c := range p {
		out = s.step(out, c)
	}
	if len(out) == 0 {
		return len(p), nil
	}
	if _, err := s.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *Safe) step(out []byte, c byte) []byte {
	switch s.state {
	case afterEscape:
		return s.escaped(out, c)
	case inSequence:
		switch {
		case c >= 0x40 && c <= 0x7e: // the last byte is the command
			if c == 'm' && len(s.seq) <= maxPaint && bytes.IndexFunc(s.seq[2:], notPaint) < 0 {
				out = append(append(out, s.seq...), c)
			}
			s.state = inText
		case c >= 0x20 && c < 0x40:
			if len(s.seq) <= maxPaint {
				s.seq = append(s.seq, c)
			}
		default:
			s.state = inText
			return s.step(out, c)
		}
	case inString:
		switch c {
		case bel, '\n': // the end of a line ends every sequence
			s.state = inText
			if c == '\n' {
				out = append(out, c)
			}
		case esc:
			s.state = stringEnds
		}
	case stringEnds:
		s.state = inText
		if c != '\\' {
			return s.escaped(out, c)
		}
	case inCharset:
		s.state = inText
		if c < 0x20 {
			return s.step(out, c)
		}
	case afterC2:
		s.state = inText
		if c < 0x80 || c > 0xbf {
			return s.step(out, c)
		}
		if c >= 0xa0 {
			out = append(out, 0xc2, c)
		}
	default:
		return s.text(out, c)
	}
	return out
}

// escaped is the byte after an escape.
func (s *Safe) escaped(out []byte, c byte) []byte {
	s.state = inText
	switch {
	case c == '[':
		s.state, s.seq = inSequence, append(s.seq[:0], esc, '[')
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		s.state = inString
	case c >= 0x20 && c < 0x30:
		s.state = inCharset
	case c < 0x20:
		return s.text(out, c)
	}
	return out // a sequence of two bytes is dropped
}

func (s *Safe) text(out []byte, c byte) []byte {
	switch {
	case c == esc:
		s.state, s.rest = afterEscape, 0
		return out
	case c == 0xc2:
		s.state, s.rest = afterC2, 0
		return out
	case c > 0xc2 && c <= 0xdf:
		s.rest = 1
	case c >= 0xe0 && c <= 0xef:
		s.rest = 2
	case c >= 0xf0 && c <= 0xf4:
		s.rest = 3
	case c >= 0x80 && c < 0xc0:
		if s.rest == 0 {
			return out // alone, 0x80 to 0x9f are control characters to some terminals
		}
		s.rest--
	default:
		s.rest = 0
		if c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == del {
			return out
		}
	}
	return append(out, c)
}

// Clean removes from a text what a Safe writer removes.
func Clean(text string) string {
	var b bytes.Buffer
	_, _ = NewSafe(&b).Write([]byte(text)) // a buffer returns no errors
	return b.String()
}

func notPaint(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' }
