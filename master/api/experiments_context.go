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
	"github.com/detent-ml/detent/master/v1"
)

// Limits on submitted code. Determined's clients stop at 95 MiB themselves.
const (
	contextMost  = 96 << 20 // bytes of all files together
	contextFiles = 50_000
	contextPath  = 1024 // bytes of one path

	fileRegular   = 48 // tar's type bytes, which the wire uses
	fileDirectory = 53
)

// packContext checks files and packs them. It is deterministic: the same files
// make the same archive and hash, in whatever order they came.
func packContext(files []v1.File) (*store.Context, error) {
	if len(files) == 0 {
		return nil, nil
	}
	files, err := checkContext(files)
	if err != nil {
		return nil, err
	}
	var tgz bytes.Buffer
	zip, err := gzip.NewWriterLevel(&tgz, gzip.BestSpeed) // the reader waits; a few percent of size do not matter
	if err != nil {
		return nil, err
	}
	w, sum := tar.NewWriter(zip), sha256.New()
	for _, f := range files {
		h := &tar.Header{Typeflag: byte(f.Type), Name: f.Path, Mode: int64(f.Mode & 0o777), ModTime: time.Unix(f.Mtime, 0),
			Size: int64(len(f.Content)), Format: tar.FormatPAX}
		if f.Type == fileDirectory {
			h.Name += "/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, err
		}
		hashFile(sum, h, f.Content)
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return &store.Context{Hash: sum.Sum(nil), Tgz: tgz.Bytes(), Size: int64(tgz.Len())}, nil
}

// hashFile adds a file to a context's hash. The hash is over what is in the
// archive and not over its bytes, which another compressor would change.
func hashFile(sum io.Writer, h *tar.Header, content []byte) {
	inner := sha256.Sum256(content)
	var b []byte
	b = binary.BigEndian.AppendUint32(b, uint32(len(h.Name)))
	b = append(b, h.Name...)
	b = append(b, h.Typeflag)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Mode))
	b = binary.BigEndian.AppendUint64(b, uint64(h.ModTime.Unix()))
	b = append(b, inner[:]...)
	_, _ = sum.Write(b) // a hash never fails
}

// checkContext refuses files that would not be where they say inside a task's
// folder, and sorts them so that a folder comes before what is in it.
func checkContext(files []v1.File) ([]v1.File, error) {
	if len(files) > contextFiles {
		return nil, fault.New(fault.TooLarge, "the context has %d files; the limit is %d: leave data out with .detignore", len(files), contextFiles)
	}
	files = slices.Clone(files)
	size := 0
	kinds := make(map[string]int, len(files))
	for i := range files {
		f := &files[i]
		clean, err := contextPathOf(f.Path)
		if err != nil {
			return nil, err
		}
		f.Path = clean
		if f.Type != fileRegular && f.Type != fileDirectory {
			return nil, fault.New(fault.Invalid, "the context: %s is of type %d; only files (48) and folders (53) can be sent", clip(clean), f.Type)
		}
		if f.Type == fileDirectory && len(f.Content) > 0 {
			return nil, fault.New(fault.Invalid, "the context: %s is a folder and has content", clip(clean))
		}
		if _, twice := kinds[clean]; twice {
			return nil, fault.New(fault.Invalid, "the context: %s is in it twice", clip(clean))
		}
		kinds[clean] = f.Type
		if size += len(f.Content); size > contextMost {
			return nil, fault.New(fault.TooLarge, "the context is over the limit of %d MB: leave data out with .detignore", contextMost>>20)
		}
	}
	for p := range kinds {
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			if kind, there := kinds[up]; there && kind != fileDirectory {
				return nil, fault.New(fault.Invalid, "the context: %s is a file, and %s lies in it", clip(up), clip(p))
			}
		}
	}
	slices.SortFunc(files, func(a, b v1.File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
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
	case slices.Contains(strings.Split(trimmed, "/"), ".."):
		return refuse("leads out of it with ..")
	case strings.ContainsFunc(trimmed, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse("has control characters in it")
	case path.Clean(trimmed) != trimmed:
		return refuse("is not in its simplest form")
	}
	return trimmed, nil
}

// contextOf reads the code of the experiment in the path.
func (a *API) contextOf(ctx context.Context, c *call) ([]byte, error) {
	e, err := a.experimentFor(ctx, c, auth.View)
	if err != nil {
		return nil, err
	}
	return a.db.ContextTgz(ctx, e.ContextHash)
}

// emptyTgz is the archive of an experiment that was submitted without code.
func emptyTgz() []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_ = tar.NewWriter(zip).Close() // into memory
	_ = zip.Close()
	return b.Bytes()
}

func (a *API) modelDef(ctx context.Context, c *call, _ *none) (*v1.GetModelDefResponse, error) {
	tgz, err := a.contextOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if tgz == nil {
		tgz = emptyTgz()
	}
	return &v1.GetModelDefResponse{B64Tgz: base64.StdEncoding.EncodeToString(tgz)}, nil
}

// eachContextFile calls fn for the files of an archive until it returns false.
func eachContextFile(tgz []byte, fn func(h *tar.Header, r io.Reader) (bool, error)) error {
	if tgz == nil {
		return nil
	}
	zip, err := gzip.NewReader(bytes.NewReader(tgz))
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

func (a *API) fileTree(ctx context.Context, c *call, _ *none) (*v1.FileTreeResponse, error) {
	tgz, err := a.contextOf(ctx, c)
	if err != nil {
		return nil, err
	}
	root := &treeNode{}
	err = eachContextFile(tgz, func(h *tar.Header, r io.Reader) (bool, error) {
		name := strings.TrimSuffix(h.Name, "/")
		n := v1.FileNode{Path: name, Name: path.Base(name), ModifiedTime: h.ModTime, ContentLength: int(h.Size), IsDir: h.Typeflag == tar.TypeDir}
		if !n.IsDir {
			head := make([]byte, 512)
			got, err := io.ReadFull(r, head)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return false, err
			}
			n.ContentType = contentType(name, head[:got])
		}
		root.at(name).node = n
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return &v1.FileTreeResponse{Files: root.files("")}, nil
}

// treeNode builds a tree out of paths. A folder that has no entry of its own is
// made up from its children.
type treeNode struct {
	node     v1.FileNode
	children map[string]*treeNode
}

func (t *treeNode) at(p string) *treeNode {
	for step := range strings.SplitSeq(p, "/") {
		if t.children == nil {
			t.children = map[string]*treeNode{}
		}
		if t.children[step] == nil {
			t.children[step] = &treeNode{node: v1.FileNode{Name: step, IsDir: true}}
		}
		t = t.children[step]
	}
	return t
}

func (t *treeNode) files(under string) []v1.FileNode {
	var out []v1.FileNode
	for name, child := range t.children {
		n := child.node
		n.Path = path.Join(under, name)
		n.Files = child.files(n.Path)
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b v1.FileNode) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func contentType(name string, head []byte) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return http.DetectContentType(head)
}

// submittedFile reads one file of the experiment's code.
func (a *API) submittedFile(ctx context.Context, c *call, name string) ([]byte, error) {
	tgz, err := a.contextOf(ctx, c)
	if err != nil {
		return nil, err
	}
	var content []byte
	found := false
	err = eachContextFile(tgz, func(h *tar.Header, r io.Reader) (bool, error) {
		if h.Name != strings.TrimPrefix(name, "./") {
			return true, nil
		}
		found = true
		var err error
		content, err = io.ReadAll(r)
		return false, err
	})
	if err == nil && !found {
		return nil, fault.New(fault.NotFound, "there is no file %q in the experiment's code", clip(name))
	}
	return content, err
}

func (a *API) downloadFile(ctx context.Context, c *call) error {
	name, _ := c.query("path")
	content, err := a.submittedFile(ctx, c, name)
	if err != nil {
		return err
	}
	// Never as a page of our own origin: the file is somebody's.
	c.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
	return c.Send(content)
}

// fileRequest asks for one file of an experiment's code.
type fileRequest struct {
	Path string `json:"path"`
}

type fileResponse struct {
	File []byte `json:"file"`
}

func (a *API) modelFile(ctx context.Context, c *call, req *fileRequest) (*fileResponse, error) {
	content, err := a.submittedFile(ctx, c, req.Path)
	if err != nil {
		return nil, err
	}
	return &fileResponse{File: content}, nil
}
