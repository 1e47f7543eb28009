package api

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// contextNames bounds the names of all files of a context together, because they
// are in memory while it is checked.
const contextNames = 8 << 20

// submitted is the code of a request, on disk: the contents one after the other,
// and a list of the files in the order in which they came.
type submitted struct {
	room    *spool.Reservation
	content *spool.File
	index   *spool.File
	rest    received // the body without the files
	count   int

	records *json.Encoder
	out     *bufio.Writer
	names   int
	begin   int64 // of the file that arrives
	sum     hash.Hash
}

// A submittedFile is a line of the list.
type submittedFile struct {
	Path   string
	Type   int
	Mode   int
	Mtime  int64
	Offset int64
	Size   int64
	Sum    []byte
}

// none tells whether no file came.
func (s *submitted) none() bool { return s == nil || s.count == 0 }

// Close removes it from the disk.
func (s *submitted) Close() {
	if s == nil || s.room == nil {
		return
	}
	for _, f := range []*spool.File{s.content, s.index, s.rest.file} {
		if f != nil {
			_ = f.Close() // it has no name; there is nothing to lose
		}
	}
	s.room.Close()
	s.room = nil
}

// receiveFiles receives a body with code in one of its fields. Nothing of it is in
// memory but what passes, and the rest of the message when that is small.
func (a *API) receiveFiles(c *fiber.Ctx, field string, limit int) (*submitted, error) {
	declared := c.Request().Header.ContentLength()
	if declared > limit {
		a.discard(c, discardMost)
		return nil, tooLarge(declared, limit)
	}
	from := a.arrivalOf(c)
	if from == nil {
		return &submitted{}, nil
	}
	if declared < 0 {
		declared = limit
	}
	s := &submitted{sum: sha256.New()}
	var err error
	// The list has more bytes than the names in it, and is bounded.
	if s.room, err = a.reserve(c, int64(declared)+min(int64(declared)*6, contextNames+contextFiles*200)); err != nil {
		a.discard(c, discardMost)
		return nil, err
	}
	if err := s.receive(from, field, limit); err != nil {
		s.Close()
		if fault.Is(err, fault.TooLarge) {
			a.discard(c, discardMost)
		}
		return nil, err
	}
	if err := from.finish(c); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *submitted) receive(from *arrival, field string, limit int) error {
	var err error
	if s.content, err = s.room.Create(); err != nil {
		return err
	}
	if s.index, err = s.room.Create(); err != nil {
		return err
	}
	if s.rest.file, err = s.room.Create(); err != nil {
		return err
	}
	s.out = bufio.NewWriter(s.index)
	s.records = json.NewEncoder(s.out)
	rest := &restWriter{to: s.rest.file}
	err = v1.SplitFiles(&atMost{from: from, left: int64(limit)}, field, rest, s)
	if err == nil {
		err = errors.Join(s.out.Flush(), rest.end(&s.rest))
	}
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		err = fault.New(fault.Invalid, "%w", err)
	}
	return err
}

// Content is a part of the file that arrives.
func (s *submitted) Content(part []byte) error {
	if s.content.Size()+int64(len(part)) > contextMost {
		return fault.New(fault.TooLarge, "the context is over the limit of %d MB: leave data out with .detignore", contextMost>>20)
	}
	_, _ = s.sum.Write(part) // a hash never fails
	_, err := s.content.Write(part)
	return err
}

// File ends the file that arrives.
func (s *submitted) File(f v1.File) error {
	if s.count++; s.count > contextFiles {
		return fault.New(fault.TooLarge, "the context has more than %d files: leave data out with .detignore", contextFiles)
	}
	if s.names += len(f.Path); s.names > contextNames {
		return fault.New(fault.TooLarge, "the names of the context's files have more than %d MB: leave data out with .detignore", contextNames>>20)
	}
	line := submittedFile{Path: f.Path, Type: f.Type, Mode: f.Mode, Mtime: f.Mtime, Offset: s.begin, Size: s.content.Size() - s.begin, Sum: s.sum.Sum(nil)}
	s.begin = s.content.Size()
	s.sum.Reset()
	return s.records.Encode(line)
}

// list reads the list of files.
func (s *submitted) list() ([]submittedFile, error) {
	files := make([]submittedFile, 0, s.count)
	dec := json.NewDecoder(s.index.Section(0, s.index.Size()))
	for range s.count {
		var f submittedFile
		if err := dec.Decode(&f); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// restWriter keeps a message in memory while it is small, else on disk.
type restWriter struct {
	small bytes.Buffer
	to    *spool.File
	size  int
}

func (w *restWriter) Write(p []byte) (int, error) {
	if w.size += len(p); w.size > reportBody {
		return 0, fault.New(fault.TooLarge, "the request has more than %d MB beside its files", reportBody>>20)
	}
	if w.size <= smallBody {
		return w.small.Write(p)
	}
	if w.small.Len() > 0 {
		if _, err := w.to.Write(w.small.Bytes()); err != nil {
			return 0, err
		}
		w.small = bytes.Buffer{}
	}
	return w.to.Write(p)
}

// end says where the message is.
func (w *restWriter) end(rest *received) error {
	if w.to.Size() > 0 {
		return nil
	}
	rest.file, rest.small = nil, w.small.Bytes()
	return w.to.Close()
}

// atMost reads a body that may not be longer.
type atMost struct {
	from io.Reader
	left int64
}

func (r *atMost) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return n, fault.New(fault.TooLarge, "the request has more than the limit here, which is %.1f MB", float64(contextBody)/(1<<20))
	}
	return n, err
}
