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

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
)

// MaxPacked is the maximum size of an archive of code, in bytes.
const MaxPacked = maxCode + contexts.MaxNames + contexts.MaxFiles<<11

// Turns limits how many submitters pack code at the same time; done ends the turn.
type Turns func(ctx context.Context, share string) (done func(), err error)

// A Packer packs and stores the code of requests.
type Packer struct {
	DB    *database.DB
	Users *diskuse.Users
	Turns Turns
	Room  *spool.Folder // where code is packed
}

// Keep checks the code of a request and returns its hash, nil if there is no code, and remarks about it. It stores the code
// unless the same code is stored already or the request is a preview. It fails if the submitter
// stores too much.
func (p *Packer) Keep(ctx context.Context, by Submitter, onlyCheck bool) (hash []byte, remarks []string, err error) {
	if !onlyCheck {
		if err := p.Users.Admit(ctx, by.Who.UserID, by.Code.size()); err != nil {
			return nil, nil, err
		}
	}
	if by.Code.none() {
		return nil, nil, nil
	}
	// All code has arrived, so this step waits only for the disk and the database.
	done, err := p.Turns(ctx, by.Share)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, err, "the master stores other code at the moment; try again")
	}
	defer done()
	files, err := by.Code.list()
	if err != nil {
		return nil, nil, err
	}
	if err := checkCode(files); err != nil {
		return nil, nil, err
	}
	if remarks, err = by.Code.shadows(files); err != nil || onlyCheck {
		return nil, remarks, err
	}
	sum := sha256.New()
	for i := range files {
		hashFile(sum, files[i].header(), files[i].Sum)
	}
	hash = sum.Sum(nil)
	there, err := contexts.Has(ctx, p.DB, hash)
	if err != nil {
		return nil, nil, err
	}
	write := func(to io.Writer) error { return by.Code.pack(to, files) }
	if !there {
		// Pack before the transaction begins, so that no transaction waits for the packing.
		room, err := p.Room.Reserve(ctx, "packs", MaxPacked)
		if err != nil {
			return nil, nil, err
		}
		defer room.Close()
		packed, err := room.Create()
		if err != nil {
			return nil, nil, err
		}
		defer packed.Close()
		if err := by.Code.pack(packed, files); err != nil {
			return nil, nil, err
		}
		write = func(to io.Writer) error {
			_, err := io.Copy(to, packed.Section(0, packed.Size()))
			return err
		}
	}
	return hash, remarks, contexts.Save(ctx, p.DB, by.Who.UserID, hash, write)
}

// header is the header of a file in an archive.
func (f *submittedFile) header() *tar.Header {
	h := &tar.Header{Typeflag: byte(f.Type), Name: f.Path, Mode: int64(f.Mode & 0o777), ModTime: time.Unix(f.Mtime, 0), Size: f.Size, Format: tar.FormatPAX}
	if f.Type == fileDirectory {
		h.Name += "/"
	}
	return h
}

// pack writes files as an archive. It is deterministic: the same files give the same archive and
// hash, in any order of arrival.
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

// hashFile adds a file to the hash of a context. The hash covers the content of the archive, not its
// bytes, because another compressor would write other bytes.
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
