package v1

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/spelling"
	"github.com/detent-ml/detent/master/v1/base64parts"
)

const (
	maxFileName   = 64       // bytes of the name of a field of a message
	maxFileFields = 16 << 10 // bytes of a file's fields without its content
)

// A FileSink receives the files of a message while the message is read. The buffers that it
// receives are valid only during the call.
type FileSink interface {
	// Content receives a part of the content of the file that the next call of File ends.
	Content(part []byte) error
	// File receives the fields of the file, after all its content.
	File(File) error
}

// SplitFiles reads a message in which one field, with the given camelCase name, is a list of
// files. It passes the files to the sink while it reads, and writes the message without that
// field to rest. Its memory does not depend on the size of the message.
func SplitFiles(r io.Reader, field string, rest io.Writer, sink FileSink) error {
	s := splitter{r: bufio.NewReaderSize(r, 32<<10), field: field, rest: rest, sink: sink}
	err := s.message()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the body is not JSON: unexpected end at byte %d", s.at)
	case errors.Is(err, jsontext.ErrSyntax):
		return fmt.Errorf("the body is not JSON: unexpected character at byte %d", s.at)
	}
	return err
}

type splitter struct {
	r     *bufio.Reader
	at    int64
	field string
	rest  io.Writer
	sink  FileSink
	seen  bool
	plain [24 << 10]byte // of base64
}

// next skips white space and returns the next byte.
func (s *splitter) next() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return 0, err
		}
		s.at++
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, nil
		}
	}
}

func (s *splitter) back() error { s.at--; return s.r.UnreadByte() }

func (s *splitter) expect(want byte) error {
	c, err := s.next()
	if err == nil && c != want {
		return jsontext.ErrSyntax
	}
	return err
}

// message splits the outermost object. An empty body is an empty message.
func (s *splitter) message() error {
	c, err := s.next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if c != '{' {
		if strings.IndexByte("[\"-0123456789tfn", c) >= 0 {
			return errors.New("the body is not a JSON object: expected an object, in braces")
		}
		return jsontext.ErrSyntax
	}
	out := bufio.NewWriterSize(s.rest, 4<<10)
	sep := byte('{')
	err = s.fields(func(name string, raw []byte) error {
		if name == s.field || name == spelling.Snake(s.field) {
			return s.files()
		}
		_ = out.WriteByte(sep)
		sep = ','
		_, _ = out.Write(raw)
		_ = out.WriteByte(':')
		return s.copyValue(out)
	})
	if err != nil {
		return err
	}
	if sep == '{' {
		_ = out.WriteByte('{')
	}
	_ = out.WriteByte('}')
	if err := out.Flush(); err != nil {
		return err
	}
	if _, err := s.next(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = jsontext.ErrSyntax
		}
		return err
	}
	return nil
}

// items calls item with the number and the first byte of each item of a list, or of an object,
// whose opening bracket was read; item reads the rest.
func (s *splitter) items(end byte, item func(i int, first byte) error) error {
	for i := 0; ; i++ {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c == end && i == 0 {
			return nil
		}
		if err := item(i, c); err != nil {
			return err
		}
		c, err = s.next()
		switch {
		case err != nil:
			return err
		case c == end:
			return nil
		case c != ',':
			return jsontext.ErrSyntax
		}
	}
}

// fields calls fn for each field of an object whose opening brace was read; fn reads the value
// of the field.
func (s *splitter) fields(fn func(name string, raw []byte) error) error {
	return s.items('}', func(_ int, first byte) error {
		if first != '"' {
			return jsontext.ErrSyntax
		}
		if err := s.back(); err != nil {
			return err
		}
		raw := limited{max: maxFileName, err: fmt.Errorf("a field has a name of more than %d bytes", maxFileName)}
		if err := s.copyValue(&raw); err != nil {
			return err
		}
		name, ok := jsontext.Unquote(raw.Bytes())
		if !ok {
			return jsontext.ErrSyntax
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return fn(name, raw.Bytes())
	})
}

// limited is a buffer with a maximum size.
type limited struct {
	bytes.Buffer
	max int
	err error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.max {
		return 0, l.err
	}
	return l.Buffer.Write(p)
}

func (l *limited) WriteByte(c byte) error {
	if l.Len() >= l.max {
		return l.err
	}
	return l.Buffer.WriteByte(c)
}

// byteWriter is implemented by both targets of a copied value.
type byteWriter interface {
	io.Writer
	io.ByteWriter
}

// copyValue copies one value unchanged. The reader of the copy checks whether it is valid; here
// only its end is found.
func (s *splitter) copyValue(to byteWriter) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	for depth := 0; ; {
		switch c {
		case '"':
			if err := s.copyString(to); err != nil {
				return err
			}
		case '{', '[':
			depth++
			err = to.WriteByte(c)
		case '}', ']', ',', ':':
			if depth == 0 {
				return jsontext.ErrSyntax // where a value was expected
			}
			if c == '}' || c == ']' {
				depth--
			}
			err = to.WriteByte(c)
		default:
			err = s.copyScalar(c, to)
		}
		if err != nil || depth == 0 {
			return err
		}
		if c, err = s.next(); err != nil {
			return err
		}
	}
}

// copyString copies a string whose opening quote was read.
func (s *splitter) copyString(to byteWriter) error {
	if err := to.WriteByte('"'); err != nil {
		return err
	}
	for {
		part, err := s.r.ReadSlice('"')
		s.at += int64(len(part))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		escaped := trailing(part, err == nil)
		if _, werr := to.Write(part); werr != nil {
			return werr
		}
		if err == nil && !escaped {
			return nil
		}
		if err != nil && escaped { // the buffer ends within an escape, which continues in the next part
			c, err := s.r.ReadByte()
			if err != nil {
				return err
			}
			s.at++
			if err := to.WriteByte(c); err != nil {
				return err
			}
		}
	}
}

// trailing reports whether part ends with an odd number of backslashes, before its closing
// quote if quote is true. A part never begins within an escape.
func trailing(part []byte, quote bool) bool {
	if quote {
		part = part[:len(part)-1]
	}
	n := 0
	for n < len(part) && part[len(part)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func (s *splitter) copyScalar(c byte, to byteWriter) error {
	for n := 0; n <= maxFileFields; n++ {
		if err := to.WriteByte(c); err != nil {
			return err
		}
		next, err := s.r.ReadByte()
		if err != nil {
			return err
		}
		s.at++
		switch next {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r', '"', '{', '[':
			return s.back()
		}
		c = next
	}
	return jsontext.ErrSyntax
}

// files reads the list of files.
func (s *splitter) files() error {
	if s.seen {
		return fmt.Errorf("%s: the field appears twice", s.field)
	}
	s.seen = true
	c, err := s.next()
	if err != nil {
		return err
	}
	if c == 'n' {
		return s.null()
	}
	if c != '[' {
		return fmt.Errorf("%s: expected a list of files", s.field)
	}
	return s.items(']', func(i int, first byte) error {
		if first != '{' {
			return fmt.Errorf("%s[%d]: expected a file", s.field, i)
		}
		return s.file(i)
	})
}

func (s *splitter) null() error {
	for _, want := range []byte("ull") {
		c, err := s.r.ReadByte()
		if err != nil {
			return err
		}
		s.at++
		if c != want {
			return jsontext.ErrSyntax
		}
	}
	return nil
}

// file reads one file whose opening brace was read.
func (s *splitter) file(i int) error {
	meta := limited{max: maxFileFields, err: fmt.Errorf("%s[%d]: the fields other than content have more than %d bytes", s.field, i, maxFileFields)}
	sep, content := byte('{'), false
	err := s.fields(func(name string, raw []byte) error {
		if name == "content" {
			if content {
				return fmt.Errorf("%s[%d].content: the field appears twice", s.field, i)
			}
			content = true
			return s.content(i)
		}
		if _, err := fmt.Fprintf(&meta, "%c%s:", sep, raw); err != nil {
			return err
		}
		sep = ','
		return s.copyValue(&meta)
	})
	if err != nil {
		return err
	}
	if sep == '{' {
		_ = meta.WriteByte('{')
	}
	_ = meta.WriteByte('}')
	var f File
	if !json.Valid(meta.Bytes()) {
		return jsontext.ErrSyntax
	}
	if err := Unmarshal(meta.Bytes(), &f); err != nil {
		return fmt.Errorf("%s[%d]: %w", s.field, i, err)
	}
	return s.sink.File(f)
}

// content decodes a base64 string and passes the bytes to the sink.
func (s *splitter) content(i int) error {
	c, err := s.next()
	switch {
	case err != nil:
		return err
	case c == 'n':
		return s.null()
	case c != '"':
		return fmt.Errorf("%s[%d].content: expected base64", s.field, i)
	}
	d := base64parts.New(s.plain[:], s.sink.Content, fmt.Errorf("%s[%d].content: expected base64", s.field, i))
	for {
		if _, err := s.r.Peek(1); err != nil {
			return err
		}
		part, _ := s.r.Peek(s.r.Buffered())
		n := bytes.IndexByte(part, '"')
		if n >= 0 {
			part = part[:n]
		}
		esc := bytes.IndexByte(part, '\\')
		if esc >= 0 {
			part = part[:esc]
		}
		err := d.Add(part)
		s.skip(len(part))
		switch {
		case err != nil:
			return err
		case esc >= 0:
			if err := s.escape(d); err != nil {
				return err
			}
		case n >= 0:
			s.skip(1)
			return d.End()
		}
	}
}

func (s *splitter) skip(n int) {
	_, _ = s.r.Discard(n) // the bytes are buffered, so no error is possible
	s.at += int64(n)
}

// escape handles an escaped character, such as the \/ of some encoders.
func (s *splitter) escape(d *base64parts.Decoder) error {
	raw, err := s.r.Peek(2)
	if err == nil && raw[1] == 'u' {
		raw, err = s.r.Peek(6)
	}
	if err != nil {
		return err
	}
	var text string
	if json.Unmarshal([]byte(`"`+string(raw)+`"`), &text) != nil {
		return jsontext.ErrSyntax
	}
	s.skip(len(raw))
	if text == "\n" || text == "\r" { // some encoders break base64 into lines
		return nil
	}
	return d.Add([]byte(text))
}
