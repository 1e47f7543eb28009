// Package spool stores bodies of requests on disk until they are complete, so that the master's
// memory does not depend on the size or speed of requests.
//
// A Folder limits the size of all its files together and of each owner. The share of an owner
// shrinks with the free space: even if a few owners send as much as they can, space remains for
// others. A File has no name: it is unlinked after its creation, so it disappears with the
// process.
package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// 1/OwnerShare of a folder is the most that one owner may use.
	OwnerShare = 4
	// An owner with a reservation may reserve more only if freeShare times the owner's new
	// total stays free. So k owners who reserve as much as they can use at most 1/(freeShare+1)
	// of the space that was free for each, and most of it stays free for others.
	freeShare = 8
)

// A Folder holds files.
type Folder struct {
	path string
	most int64

	mu      sync.Mutex
	used    int64
	owners  map[string]int64
	waiting []*waiter // in the order of their requests
}

// A waiter waits for space.
type waiter struct {
	owner   string
	n       int64
	granted chan struct{} // closed when it has the space
}

// New makes a folder of at most that many bytes. The directory must exist.
func New(path string, most int64) *Folder {
	return &Folder{path: path, most: most, owners: map[string]int64{}}
}

// Path is the directory.
func (f *Folder) Path() string { return f.path }

// Used is the number of reserved bytes.
func (f *Folder) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

// A Reservation is space for the files of one request.
type Reservation struct {
	folder *Folder
	owner  string
	mu     sync.Mutex
	left   int64 // bytes not yet used
	held   int64 // bytes reserved in total
}

// Reserve waits until an owner may store n bytes, or until ctx ends.
func (f *Folder) Reserve(ctx context.Context, owner string, n int64) (*Reservation, error) {
	if n > f.most/OwnerShare {
		return nil, fault.New(fault.TooLarge, "the request has %.1f MB; this master stores at most %.1f MB of incomplete requests for one user", mb(n), mb(f.most/OwnerShare))
	}
	w := &waiter{owner: owner, n: n, granted: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, w)
	f.grant()
	f.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		if f.giveUp(w) {
			return nil, fault.New(fault.Unavailable, "the master has no disk space for more request bodies now; try again later")
		}
	}
	return &Reservation{folder: f, owner: owner, left: n, held: n}, nil
}

// grant gives space to the waiters for which it is enough, the owner with the smallest total
// first. It must be called with the lock held.
func (f *Folder) grant() {
	for {
		var next *waiter
		for _, w := range f.waiting {
			if f.fits(w) && (next == nil || f.owners[w.owner] < f.owners[next.owner]) {
				next = w
			}
		}
		if next == nil {
			return
		}
		f.used += next.n
		f.owners[next.owner] += next.n
		f.remove(next)
		close(next.granted)
	}
}

// fits must be called with the lock held. An owner without a reservation needs only free space:
// no share limits a first request.
func (f *Folder) fits(w *waiter) bool {
	held, left := f.owners[w.owner], f.most-f.used-w.n
	switch {
	case left < 0 || held+w.n > f.most/OwnerShare:
		return false
	case held == 0:
		return true
	}
	return (held+w.n)*freeShare <= left
}

// giveUp stops waiting. It returns false if the space was granted at the same moment.
func (f *Folder) giveUp(w *waiter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remove(w)
}

// remove must be called with the lock held.
func (f *Folder) remove(w *waiter) bool {
	i := slices.Index(f.waiting, w)
	if i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
	}
	return i >= 0
}

func (f *Folder) release(owner string, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= n
	if f.owners[owner] -= n; f.owners[owner] <= 0 {
		delete(f.owners, owner)
	}
	f.grant()
}

// Close releases the space. The files must be closed before.
func (r *Reservation) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folder.release(r.owner, r.held)
	r.left, r.held = 0, 0
}

func (r *Reservation) use(n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.left {
		return fault.New(fault.TooLarge, "the request is larger than its Content-Length")
	}
	r.left -= n
	return nil
}

// A File is written once, then read.
type File struct {
	room *Reservation
	file *os.File
	size int64
}

// Create makes an empty file within the reservation.
func (r *Reservation) Create() (*File, error) {
	file, err := os.CreateTemp(r.folder.path, "detent-body-*")
	if err != nil {
		return nil, wrap(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, wrap(errors.Join(err, file.Close()))
	}
	return &File{room: r, file: file}, nil
}

// Write appends bytes.
func (f *File) Write(p []byte) (int, error) {
	if err := f.room.use(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.file.WriteAt(p, f.size)
	f.size += int64(n)
	return n, wrap(err)
}

// Size is the number of written bytes.
func (f *File) Size() int64 { return f.size }

// Section reads a part of the file.
func (f *File) Section(offset, size int64) *io.SectionReader {
	return io.NewSectionReader(f.file, offset, size)
}

// Close removes the file.
func (f *File) Close() error { return f.file.Close() }

func wrap(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Wrap(fault.Unavailable, err, "the master's disk for request bodies is full; try again later, or tell the operators")
	}
	return fmt.Errorf("cannot write to the folder of request bodies: %w", err)
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }
