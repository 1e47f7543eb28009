// Package spool keeps on disk what requests bring until it is whole, so that the
// master's memory does not depend on how much arrives, or how slowly.
//
// A Folder bounds what lies in it, for everybody together and for each owner. The
// share of an owner shrinks with what is left: some owners who send much, each as much as
// possible, still leave room for others. A File has no name: it was unlinked when it was
// made, and is gone with the process however that ends.
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
	// OwnerShare is which part of a folder one owner may fill at most: this fraction of it.
	OwnerShare = 4
	// freeShare says how much stays free when an owner who holds something already asks for
	// more: so many times what the owner then holds. So k owners who take all that they can
	// hold at most 1/(freeShare+1) of what was left to each, and most of it stays free for others.
	freeShare = 8
)

// A Folder holds files.
type Folder struct {
	path string
	most int64

	mu      sync.Mutex
	used    int64
	owners  map[string]int64
	waiting []*waiter // in the order in which they came
}

// A waiter waits for room.
type waiter struct {
	owner   string
	n       int64
	granted chan struct{} // closed when it has the room
}

// New makes a folder of at most so many bytes. The directory has to exist.
func New(path string, most int64) *Folder {
	return &Folder{path: path, most: most, owners: map[string]int64{}}
}

// Path is the directory.
func (f *Folder) Path() string { return f.path }

// Used says how many bytes are reserved.
func (f *Folder) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

// A Reservation is room for the files of one request.
type Reservation struct {
	folder *Folder
	owner  string
	mu     sync.Mutex
	left   int64 // of what is reserved
	held   int64 // reserved altogether
}

// Reserve waits until an owner may store n bytes, or for as long as ctx lasts.
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
			return nil, fault.New(fault.Unavailable, "the master has no disk space left for more request bodies at the moment; try again")
		}
	}
	return &Reservation{folder: f, owner: owner, left: n, held: n}, nil
}

// grant gives room to those who wait and may have it: whoever holds least first. It
// needs the lock.
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

// fits needs the lock. An owner who holds nothing needs only the room: nobody's first
// request waits for a share.
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

// giveUp stops waiting, and says whether it did: the room may have been given at the
// same moment.
func (f *Folder) giveUp(w *waiter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remove(w)
}

// remove needs the lock.
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

// Close gives the room back. The files are to be closed before.
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

// Write appends.
func (f *File) Write(p []byte) (int, error) {
	if err := f.room.use(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.file.WriteAt(p, f.size)
	f.size += int64(n)
	return n, wrap(err)
}

// Size is how much was written.
func (f *File) Size() int64 { return f.size }

// Section reads a part of what was written.
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
		return fault.Wrap(fault.Unavailable, err, "the disk on which the master receives requests is full; try again, or tell the operators")
	}
	return fmt.Errorf("the folder in which the master receives requests: %w", err)
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }
