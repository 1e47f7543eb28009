// Package objects reads checkpoints from object storage, for downloads through the master, removes them, for garbage
// collections, and writes the files that programs log through the master. Only this package talks to object stores.
//
// Bucket has what all kinds of stores share: limits for the size of responses, and for the time
// without data. s3.go uses AWS's library; gcs.go and azure.go use plain HTTP, through web.go: Google's library
// (cloud.google.com/go/storage 1.70) would add 33 MB to the 11 MB of det-remover, which nodes fetch for garbage collections,
// and 24 MB to det-master; Azure's (azblob 1.8) would add 4 and 5 MB.
package objects

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// silentFor is the maximum time without data from a store.
const silentFor = time.Minute

// Limits for one listing. No checkpoint has so many files, and the server of a user could send
// an endless list.
const (
	maxKeys  = 1_000_000
	maxPages = 10_000
)

// findWithin is the time limit of a search for names, in multiples of the time without data.
const findWithin = 4

// maxText is the maximum length of a store's message that is quoted.
const maxText = 200

var errSilent = errors.New("the object store is silent")

// An Object is an object in a bucket.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
	// Generation changes with the content; only Google's storage has one.
	Generation string
}

// A Patience is the timeouts of a store's caller, and its hint for rejected credentials.
type Patience struct {
	// Refused is the hint if the store rejects the credentials; may be empty.
	Refused string
	// Silent is the maximum time without data: until a response begins, and between two parts
	// of an object. The default is a minute.
	Silent time.Duration
}

// A store is one bucket, in the protocol of its kind.
type store interface {
	// page lists a part of the objects below a prefix, beginning at mark; next is the mark of
	// the following part, "" after the last.
	page(ctx context.Context, prefix, mark string) (list []Object, next string, err error)
	// open begins to read an object. The size is negative if the store does not send it.
	open(ctx context.Context, key string) (io.ReadCloser, Object, error)
	remove(ctx context.Context, key string) error
	// put writes an object.
	put(ctx context.Context, key string, from *io.SectionReader) error
	// begin, putPart, parts, finish and drop write an object in parts (parts.go).
	begin(ctx context.Context, key string) (id string, err error)
	putPart(ctx context.Context, key, id string, n int, from *io.SectionReader) error
	parts(ctx context.Context, key, id string) ([]part, error)
	finish(ctx context.Context, key, id string, list []part) error
	drop(ctx context.Context, key, id string) error
	// signParts and signGet sign addresses; none and "" if the credentials cannot.
	signParts(ctx context.Context, key, id string, n int, life time.Duration) ([]string, error)
	signGet(ctx context.Context, key string, life time.Duration) (string, error)
	// at is the address of a key for messages: s3://bucket/key.
	at(key string) string
	// fault converts an error of a call.
	fault(err error, what, remedy string) error
	Close()
}

// A Bucket reads, writes and removes objects of a store.
type Bucket struct {
	store   store
	refused string
	silent  time.Duration
	keys    int // of one listing, at most
	pages   int // of one listing, at most
}

func newBucket(s store, p Patience) *Bucket {
	b := &Bucket{store: s, refused: p.Refused, silent: p.Silent, keys: maxKeys, pages: maxPages}
	b.silent = cmp.Or(b.silent, silentFor)
	return b
}

// Close closes the connections to the store.
func (b *Bucket) Close() { b.store.Close() }

// List lists the objects below a prefix.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var list []Object
	err := b.each(ctx, prefix, func(o Object) bool {
		list = append(list, o)
		return true
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Folders returns the names of the folders directly below a prefix, which is "" or ends in a slash.
func (b *Bucket) Folders(ctx context.Context, prefix string) ([]string, error) {
	found := map[string]bool{}
	err := b.each(ctx, prefix, func(o Object) bool {
		if name, _, inside := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/"); inside {
			found[name] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(found)), err
}

// Find returns which of the names exist below a prefix.
func (b *Bucket) Find(ctx context.Context, prefix string, names []string) (map[string]bool, error) {
	missing, found := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	if len(missing) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, findWithin*b.silent, errSilent)
	defer cancel()
	err := b.each(ctx, prefix, func(o Object) bool {
		name, below := strings.CutPrefix(o.Key, prefix)
		if below && missing[name] {
			found[name] = true
			delete(missing, name)
		}
		return len(missing) > 0
	})
	return found, err
}

// each calls take for the objects below a prefix, until take returns false.
func (b *Bucket) each(ctx context.Context, prefix string, take func(Object) bool) error {
	keys, mark := 0, ""
	for pages := 0; ; pages++ {
		list, next, err := b.page(ctx, prefix, mark)
		if err != nil {
			return err
		}
		keys += len(list)
		if keys > b.keys || pages >= b.pages {
			return fault.New(fault.Invalid, "the object store lists more than %d objects, or more than %d pages of them, below %s", b.keys, b.pages, b.store.at(prefix))
		}
		for _, o := range list {
			if !take(o) {
				return nil
			}
		}
		if next == "" || next == mark { // the same page again would never end
			return nil
		}
		mark = next
	}
}

func (b *Bucket) page(ctx context.Context, prefix, mark string) ([]Object, string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.silent, errSilent)
	defer cancel()
	list, next, err := b.store.page(ctx, prefix, mark)
	if err != nil {
		return nil, "", b.fault(ctx, err, prefix)
	}
	return list, next, nil
}

// Get reads an object; the caller closes the reader.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := time.AfterFunc(b.silent, func() { cancel(errSilent) })
	body, o, err := b.store.open(ctx, key)
	silent.Stop()
	if err == nil && o.Size < 0 { // an archive has the size of a file before its content
		err = errors.Join(fault.New(fault.Unavailable, "the object store does not send the size of %s", b.store.at(key)), body.Close())
	}
	if err != nil {
		err = b.fault(ctx, err, key)
		cancel(nil)
		return nil, Object{}, err
	}
	return &content{ReadCloser: body, silent: silent, within: b.silent, cancel: cancel,
		late: func() error { return b.late(ctx, key) }}, o, nil
}

// Remove removes an object. A missing object is no error. Objects are removed one by one: not
// every store can remove many at once, and some reject that call for a session whose rights are
// limited to a prefix.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.silent, errSilent)
	defer cancel()
	if err := b.store.remove(ctx, key); err != nil {
		if err = b.fault(ctx, err, key); !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// Put writes an object, or replaces it. The store must read from time to time, not within a limit for the whole object.
func (b *Bucket) Put(ctx context.Context, key string, from io.ReaderAt, size int64) error {
	return b.sending(ctx, key, from, size, func(ctx context.Context, body *io.SectionReader) error { return b.store.put(ctx, key, body) })
}

// sending makes a call with a body, which ends when the store reads nothing for too long.
func (b *Bucket) sending(ctx context.Context, key string, from io.ReaderAt, size int64, call func(ctx context.Context, body *io.SectionReader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(b.silent, func() { cancel(errSilent) })
	defer silent.Stop()
	read := sent{from, func() { silent.Reset(b.silent) }}
	if err := call(ctx, io.NewSectionReader(read, 0, size)); err != nil {
		return b.fault(ctx, err, key)
	}
	return nil
}

// sent is an object that is being written.
type sent struct {
	io.ReaderAt
	went func() // a part was read
}

func (s sent) ReadAt(p []byte, at int64) (int, error) {
	s.went()
	return s.ReaderAt.ReadAt(p, at)
}

// late returns the error of a call that ended because the store sent no data; nil for other
// calls.
func (b *Bucket) late(ctx context.Context, key string) error {
	if !errors.Is(context.Cause(ctx), errSilent) {
		return nil
	}
	return fault.Wrap(fault.Unavailable, errSilent, "the object store did not answer for %s within %s", b.store.at(key), b.silent)
}

// fault converts an error of a store.
func (b *Bucket) fault(ctx context.Context, err error, key string) error {
	var known *fault.Fault
	if errors.As(err, &known) { // an error of the credentials
		return known
	}
	if late := b.late(ctx, key); late != nil {
		return late
	}
	remedy := b.refused
	if remedy != "" {
		remedy = ": " + remedy
	}
	return b.store.fault(err, b.store.at(key), remedy)
}

// noAnswer is the error for a store that cannot be reached.
func noAnswer(err error, what string) error {
	return fault.Wrap(fault.Unavailable, err, "the object store does not answer for %s: %v", what, fault.Root(err))
}

// elsewhere is the error for a redirect.
func elsewhere(err error, what string, status int) error {
	return fault.Wrap(fault.Invalid, err, "the object store answered %s with a redirect (%d), which is not followed", what, status)
}
