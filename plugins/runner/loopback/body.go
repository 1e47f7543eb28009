package loopback

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// errNoRoom is the error for a body that would exceed the disk space of all held requests.
var errNoRoom = errors.New("the requests of this task that wait for a master need too much disk space; try again later")

type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the body of the request is over %d bytes", e.limit)
}

// A body is the body of a request, stored until a master has answered.
type body struct {
	memory []byte
	file   *os.File // unlinked; nil: all in memory
	size   int64
	room   *atomic.Int64 // bytes on disk of all bodies
}

// keep reads a body to its end.
func keep(r io.Reader, cfg Config, room *atomic.Int64) (*body, error) {
	var first bytes.Buffer
	n, err := io.CopyN(&first, r, cfg.InMemory)
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
	return spill(io.MultiReader(&first, r), cfg, room)
}

// spill stores a body in a file.
func spill(r io.Reader, cfg Config, room *atomic.Int64) (*body, error) {
	f, err := os.CreateTemp(cfg.SpillDir, "request-")
	if err != nil {
		return nil, fmt.Errorf("cannot store the request until a master accepts it: %w", err)
	}
	_ = os.Remove(f.Name())
	b := &body{file: f, room: room}
	limited := &io.LimitedReader{R: r, N: cfg.MaxBody + 1}
	for {
		n, err := io.CopyN(f, limited, 1<<20)
		b.size += n
		total := room.Add(n)
		switch {
		case b.size > cfg.MaxBody:
			b.free()
			return nil, &tooLargeError{cfg.MaxBody}
		case total > cfg.MaxBodies:
			b.free()
			return nil, errNoRoom
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
		b.room.Add(-b.size)
		b.file = nil
	}
}

func quoted(s string) []byte {
	q, _ := json.Marshal(s) // strings always encode
	return q
}
