package api

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits on submitted code. Determined's clients stop at 95 MiB themselves.
const (
	contextMost  = 96 << 20 // bytes of all files together
	contextFiles = 50_000
	contextPath  = 1024                                          // bytes of one path
	contextDepth = 64                                            // folders and files on one path
	packedMost   = contextMost + contextNames + contextFiles<<11 // bytes of an archive of that

	fileRegular   = 48 // tar's type bytes, which the wire uses
	fileDirectory = 53
)

// keepFiles checks the code of a request, stores it unless it is there already or
// the request only asks, and returns its hash; nil where there is none.
func (a *API) keepFiles(ctx context.Context, c *call, onlyCheck bool) ([]byte, error) {
	s := c.files
	if s.none() {
		return nil, nil
	}
	// All of it has arrived: this waits for nobody but the disk and the database.
	packing, err := a.receiver.packs.take(ctx, a.ownerOf(c.Ctx), 1)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the master stores other code at the moment; try again")
	}
	defer packing.release()
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	if err := checkContext(files); err != nil || onlyCheck {
		return nil, err
	}
	sum := sha256.New()
	for i := range files {
		hashFile(sum, files[i].header(), files[i].Sum)
	}
	hash := sum.Sum(nil)
	there, err := a.db.HasContext(ctx, hash)
	if err != nil {
		return nil, err
	}
	write := func(to io.Writer) error { return s.pack(to, files) }
	if !there {
		// It is packed before it is stored: no transaction waits for that.
		room, err := a.receiver.packed.Reserve(ctx, "packs", packedMost)
		if err != nil {
			return nil, err
		}
		defer room.Close()
		packed, err := room.Create()
		if err != nil {
			return nil, err
		}
		defer packed.Close()
		if err := s.pack(packed, files); err != nil {
			return nil, err
		}
		write = func(to io.Writer) error {
			_, err := io.Copy(to, packed.Section(0, packed.Size()))
			return err
		}
	}
	return hash, a.db.SaveContext(ctx, hash, write)
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
func (s *submitted) pack(to io.Writer, files []submittedFile) error {
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
		if _, err := io.Copy(w, s.content.Section(f.Offset, f.Size)); err != nil {
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

// checkContext refuses files that would not be where they say inside a task's
// folder, and sorts them so that a folder comes before what is in it.
func checkContext(files []submittedFile) error {
	kinds := make(map[string]int, len(files))
	for i := range files {
		f := &files[i]
		clean, err := contextPathOf(f.Path)
		if err != nil {
			return err
		}
		f.Path = clean
		if f.Type != fileRegular && f.Type != fileDirectory {
			return fault.New(fault.Invalid, "the context: %s is of type %d; only files (48) and folders (53) can be sent", clip(clean), f.Type)
		}
		if f.Type == fileDirectory && f.Size > 0 {
			return fault.New(fault.Invalid, "the context: %s is a folder and has content", clip(clean))
		}
		if _, twice := kinds[clean]; twice {
			return fault.New(fault.Invalid, "the context: %s is in it twice", clip(clean))
		}
		kinds[clean] = f.Type
	}
	for p := range kinds {
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			if kind, there := kinds[up]; there && kind != fileDirectory {
				return fault.New(fault.Invalid, "the context: %s is a file, and %s lies in it", clip(up), clip(p))
			}
		}
	}
	slices.SortFunc(files, func(a, b submittedFile) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// contextPathOf cleans a path, or says why it cannot be one.
func contextPathOf(p string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", fault.New(fault.Invalid, "the context: the path %q %s; paths are relative to the folder that is submitted", clip(p), why)
	}
	trimmed := strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	switch {
	case trimmed == "" || trimmed == ".":
		return refuse("is empty")
	case len(p) > contextPath:
		return refuse(fmt.Sprintf("is %d bytes long; the limit is %d", len(p), contextPath))
	case strings.HasPrefix(trimmed, "/"):
		return refuse("is absolute")
	case strings.Count(trimmed, "/") >= contextDepth:
		return refuse(fmt.Sprintf("has %d folders and files on it; the limit is %d", strings.Count(trimmed, "/")+1, contextDepth))
	case slices.Contains(strings.Split(trimmed, "/"), ".."):
		return refuse("leads out of it with ..")
	case strings.ContainsFunc(trimmed, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse("has control characters in it")
	case path.Clean(trimmed) != trimmed:
		return refuse("is not in its simplest form")
	}
	return trimmed, nil
}

// contextOf finds the code of the experiment in the path; nil for none.
func (a *API) contextOf(ctx context.Context, c *call) (*store.Context, error) {
	e, err := a.experimentFor(ctx, c, auth.View)
	if err != nil {
		return nil, err
	}
	return a.db.ContextOf(ctx, e.ContextHash)
}

// emptyTgz is the archive of an experiment that was submitted without code.
func emptyTgz() []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_ = tar.NewWriter(zip).Close() // into memory
	_ = zip.Close()
	return b.Bytes()
}

func (a *API) modelDef(ctx context.Context, c *call) error {
	code, err := a.contextOf(ctx, c)
	if err != nil {
		return err
	}
	if code == nil {
		return c.send(&v1.GetModelDefResponse{B64Tgz: base64.StdEncoding.EncodeToString(emptyTgz())})
	}
	return a.sendCode(c, "b64Tgz", code)
}

// eachContextFile calls fn for the files of an archive until it returns false.
func (a *API) eachContextFile(ctx context.Context, code *store.Context, fn func(h *tar.Header, r io.Reader) (bool, error)) error {
	if code == nil {
		return nil
	}
	zip, err := gzip.NewReader(a.db.ReadContext(ctx, code))
	if err != nil {
		return err
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := fn(h, r); err != nil || !more {
			return err
		}
	}
}

func contentType(name string, head []byte) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return http.DetectContentType(head)
}

// fileOfCode finds one file of the experiment's code. It is read while it is sent:
// what reads it ends with the server, and a client that is slow holds nothing.
func (a *API) fileOfCode(ctx context.Context, c *call, name string) (io.ReadCloser, int64, error) {
	code, err := a.contextOf(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	sending, err := a.sending(c)
	if err != nil {
		return nil, 0, err
	}
	var content io.Reader
	var size int64
	err = a.eachContextFile(a.stopping, code, func(h *tar.Header, r io.Reader) (bool, error) {
		if h.Name != strings.TrimPrefix(name, "./") {
			return true, nil
		}
		content, size = r, h.Size
		return false, nil
	})
	if err == nil && content == nil {
		err = fault.New(fault.NotFound, "there is no file %q in the experiment's code", clip(name))
	}
	if err != nil {
		sending.release()
		return nil, 0, err
	}
	return a.sentTo(c, sending, content), size, nil
}

func (a *API) downloadFile(ctx context.Context, c *call) error {
	name, _ := c.query("path")
	content, size, err := a.fileOfCode(ctx, c, name)
	if err != nil {
		return err
	}
	// Never as a page of our own origin: the file is somebody's.
	c.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
	a.sendFrom(c.Ctx, content, int(size))
	return nil
}

func (a *API) modelFile(ctx context.Context, c *call) error {
	body, err := a.readBody(c.Ctx, smallBody)
	if err != nil {
		return err
	}
	var req v1.FileRequest
	if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	content, size, err := a.fileOfCode(ctx, c, req.Path)
	if err != nil {
		return err
	}
	return a.sendBase64(c, "file", content, size)
}
