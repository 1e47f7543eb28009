package rest

import (
	"bytes"
	"errors"
	"io"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Files receive the files in a body while it arrives, and keep them on disk.
type Files interface {
	v1.FileSink
	// Arrived ends the reception.
	Arrived() error
	Close()
}

// A submission is a body with files, which are on disk.
type submission struct {
	room *spool.Reservation
	code Files
	rest Received // the body without the files
}

// Files are the files in the body of a call; nil for none.
func (c *Call) Files() Files {
	if c.files == nil {
		return nil
	}
	return c.files.code
}

// Close removes the files from the disk.
func (s *submission) Close() {
	if s == nil || s.room == nil {
		return
	}
	if s.code != nil {
		s.code.Close()
	}
	if f := s.rest.file; f != nil {
		_ = f.Close() // errors are ignored: the file is unlinked
	}
	s.room.Close()
	s.room = nil
}

// receiveFiles receives a body with files in one of its fields. The files are written to disk
// while they arrive; the rest of the message is in memory if it is small.
func (c *Call) receiveFiles(field string, limit int) (*submission, error) {
	declared := c.ctx.Request().Header.ContentLength()
	if declared > limit {
		c.discard(maxDiscard)
		return nil, TooLarge(declared, limit)
	}
	from := c.arriving()
	if from == nil {
		return &submission{}, nil
	}
	if declared < 0 {
		declared = limit
	}
	s := &submission{}
	var err error
	if s.room, err = c.reserve(c.router.cfg.FilesOnDisk(int64(declared))); err != nil {
		c.discard(maxDiscard)
		return nil, err
	}
	if err := s.receive(c.router.cfg.NewFiles, from, field, limit); err != nil {
		s.Close()
		if fault.Is(err, fault.TooLarge) {
			c.discard(maxDiscard)
		}
		return nil, err
	}
	if err := from.finish(c); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *submission) receive(create func(*spool.Reservation) (Files, error), from *arrival, field string, limit int) error {
	var err error
	if s.code, err = create(s.room); err != nil {
		return err
	}
	if s.rest.file, err = s.room.Create(); err != nil {
		return err
	}
	rest := &restWriter{to: s.rest.file}
	err = v1.SplitFiles(&limitedReader{from: from, left: int64(limit)}, field, rest, s.code)
	if err == nil {
		err = errors.Join(s.code.Arrived(), rest.end(&s.rest))
	}
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		err = fault.New(fault.Invalid, "%w", err)
	}
	return err
}

// restWriter stores a message in memory if it is small, or else on disk.
type restWriter struct {
	small bytes.Buffer
	to    *spool.File
	size  int
}

func (w *restWriter) Write(p []byte) (int, error) {
	if w.size += len(p); w.size > v1.ReportBody {
		return 0, fault.New(fault.TooLarge, "the request has more than %d MB in addition to its files", v1.ReportBody>>20)
	}
	if w.size <= v1.SmallBody {
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

// end returns where the message is stored.
func (w *restWriter) end(rest *Received) error {
	if w.to.Size() > 0 {
		return nil
	}
	rest.file, rest.small = nil, w.small.Bytes()
	return w.to.Close()
}

// limitedReader reads a body of limited size.
type limitedReader struct {
	from io.Reader
	left int64
}

func (r *limitedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return n, fault.New(fault.TooLarge, "the request has more than the limit here, which is %.1f MB", float64(v1.FilesBody)/(1<<20))
	}
	return n, err
}
