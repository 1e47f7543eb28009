package launch

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
)

// MaxPacked is how many bytes an archive of code has at most.
const MaxPacked = maxCode + MaxNames + MaxFiles<<11

// contexts is where code is kept.
type contexts interface {
	HasContext(ctx context.Context, hash []byte) (bool, error)
	SaveContext(ctx context.Context, hash []byte, write func(io.Writer) error) error
}

// Turns lets a few submitters pack code at once; done gives the turn back.
type Turns func(ctx context.Context, share string) (done func(), err error)

// A Packer keeps the code of requests.
type Packer struct {
	db    contexts
	turns Turns
	room  *spool.Folder // where code is packed
}

// NewPacker makes one.
func NewPacker(db contexts, turns Turns, room *spool.Folder) *Packer {
	return &Packer{db: db, turns: turns, room: room}
}

// Keep checks the code of a request, stores it unless it is there already or
// the request only asks, and returns its hash; nil where there is none.
func (p *Packer) Keep(ctx context.Context, by Submitter, onlyCheck bool) ([]byte, error) {
	if by.Code.none() {
		return nil, nil
	}
	// All of it has arrived: this waits for nobody but the disk and the database.
	done, err := p.turns(ctx, by.Share)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the master stores other code at the moment; try again")
	}
	defer done()
	files, err := by.Code.list()
	if err != nil {
		return nil, err
	}
	if err := checkCode(files); err != nil || onlyCheck {
		return nil, err
	}
	sum := sha256.New()
	for i := range files {
		hashFile(sum, files[i].header(), files[i].Sum)
	}
	hash := sum.Sum(nil)
	there, err := p.db.HasContext(ctx, hash)
	if err != nil {
		return nil, err
	}
	write := func(to io.Writer) error { return by.Code.pack(to, files) }
	if !there {
		// It is packed before it is stored: no transaction waits for that.
		room, err := p.room.Reserve(ctx, "packs", MaxPacked)
		if err != nil {
			return nil, err
		}
		defer room.Close()
		packed, err := room.Create()
		if err != nil {
			return nil, err
		}
		defer packed.Close()
		if err := by.Code.pack(packed, files); err != nil {
			return nil, err
		}
		write = func(to io.Writer) error {
			_, err := io.Copy(to, packed.Section(0, packed.Size()))
			return err
		}
	}
	return hash, p.db.SaveContext(ctx, hash, write)
}

// header is a file's in an archive.
func (f *submittedFile) header() *tar.Header {
	h := &tar.Header{Typeflag: byte(f.Type), Name: f.Path, Mode: int64(f.Mode & 0o777), ModTime: time.Unix(f.Mtime, 0), Size: f.Size, Format: tar.FormatPAX}
	if f.Type == fileDirectory {
		h.Name += "/"
	}
	return h
}

// pack writes files as an archive. It is deterministic: the same files make the same
// archive and hash, in whatever order they came.
func (c *Code) pack(to io.Writer, files []submittedFile) error {
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed) // the reader waits; a few percent of size do not matter
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	for i := range files {
		f := &files[i]
		if err := w.WriteHeader(f.header()); err != nil {
			return err
		}
		if _, err := io.Copy(w, c.content.Section(f.Offset, f.Size)); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zip.Close())
}

// hashFile adds a file to a context's hash. The hash is over what is in the
// archive and not over its bytes, which another compressor would change.
func hashFile(sum io.Writer, h *tar.Header, inner []byte) {
	var b []byte
	b = binary.BigEndian.AppendUint32(b, uint32(len(h.Name)))
	b = append(b, h.Name...)
	b = append(b, h.Typeflag)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Mode))
	b = binary.BigEndian.AppendUint64(b, uint64(h.ModTime.Unix()))
	b = append(b, inner...)
	_, _ = sum.Write(b) // a hash never fails
}
