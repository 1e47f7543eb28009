package loopback

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Errors for a body that would exceed the disk space of all held requests, and for one that did not arrive.
var (
	errNoRoom      = errors.New("the requests of this task that wait for a master need too much disk space; try again later")
	errLate        = errors.New("the body of the request did not arrive in time")
	errNoOtherRoom = fmt.Errorf("%w, or with a token of the task: all other requests share %d MiB", errNoRoom, maxOtherBodies>>20)
)

// space limits the bodies that are stored.
type space struct {
	inMemory, each, all int64
	full                error
	used                atomic.Int64 // bytes on disk
}

type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the body of the request is over %d bytes", e.limit)
}

// A body is the body of a request, stored until a master has answered.
type body struct {
	memory []byte
	file   *os.File // unlinked; nil: all in memory
	size   int64
	space  *space
}

// keep reads a body to its end.
func keep(r io.Reader, dir string, in *space) (*body, error) {
	var first bytes.Buffer
	n, err := io.CopyN(&first, r, in.inMemory)
	if errors.Is(err, io.EOF) {
		return &body{memory: first.Bytes(), size: n}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the request: %w", err)
	}
	var next [1]byte
	if _, err := io.ReadFull(r, next[:]); errors.Is(err, io.EOF) {
		return &body{memory: first.Bytes(), size: n}, nil
	} else if err != nil {
		return nil, fmt.Errorf("cannot read the request: %w", err)
	}
	first.Write(next[:])
	return spill(io.MultiReader(&first, r), dir, in)
}

// spill stores a body in a file.
func spill(r io.Reader, dir string, in *space) (*body, error) {
	f, err := os.CreateTemp(dir, "request-")
	if err != nil {
		return nil, fmt.Errorf("cannot store the request until a master accepts it: %w", err)
	}
	_ = os.Remove(f.Name())
	b := &body{file: f, space: in}
	limited := &io.LimitedReader{R: r, N: in.each + 1}
	for {
		n, err := io.CopyN(f, limited, 1<<20)
		b.size += n
		total := in.used.Add(n)
		switch {
		case b.size > in.each:
			b.free()
			return nil, &tooLargeError{in.each}
		case total > in.all:
			b.free()
			return nil, in.full
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			b.free()
			return nil, fmt.Errorf("cannot store the request until a master accepts it: %w", err)
		}
	}
}

// open returns the content from its beginning.
func (b *body) open() (io.ReadCloser, error) {
	if b.file == nil {
		return io.NopCloser(bytes.NewReader(b.memory)), nil
	}
	return io.NopCloser(io.NewSectionReader(b.file, 0, b.size)), nil
}

// free releases the space of the body.
func (b *body) free() {
	if b.file != nil {
		_ = b.file.Close()
		b.space.used.Add(-b.size)
		b.file = nil
	}
}

// A timed body has a deadline. The deadline ends with the body, because the request may then wait for hours.
type timed struct {
	io.ReadCloser
	deadline func(time.Time) error
}

func timely(b io.ReadCloser, deadline func(time.Time) error, within time.Duration) io.ReadCloser {
	_ = deadline(time.Now().Add(within)) // connections of servers have deadlines
	return &timed{b, deadline}
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		_ = t.deadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errLate
	}
	return n, err
}

func quoted(s string) []byte {
	q, _ := json.Marshal(s) // strings always encode
	return q
}
