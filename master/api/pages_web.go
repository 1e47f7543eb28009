package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// pagePolicy lets pages run and show only what this master serves. Styles are
	// set through the CSSOM, which needs no exception; data: is for small pictures
	// within the style sheet.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// immutableCache is for files whose name changes with their content.
	immutableCache = "public, max-age=31536000, immutable"
	// minGzipBytes is the size from which gzip is worth its header.
	minGzipBytes = 1024
)

// nonPagePrefixes are the beginnings of paths under which no page of ours lies: a browser
// that goes to a wrong path there is told so, and not shown the start page.
var nonPagePrefixes = []string{"/api/", "/proxy/", "/runner/", "/harness/", "/checkpoints/", "/docs/", "/assets/"}

const missingPages = `<!doctype html><meta charset="utf-8"><title>Detent</title>
<h1>This master was built without its pages</h1>
<p>Everything else works. To get the pages, run <code>./justw build</code> in the source and start the
det-master that it makes; a det-master built with the tag <code>no_ui</code> has none.</p>
<p><a href="/docs/rest-api">The interface for programs</a></p>
`

// pages serves what a browser asks for beside the API. Files are packed when the
// first browser asks, and kept.
type pages struct {
	files fs.FS
	mu    sync.Mutex
	known map[string]*page
}

// page is a file as it is sent.
type page struct {
	body, packed []byte // packed is nil where that saves nothing
	mime, tag    string
}

func newPages(files fs.FS) *pages { return &pages{files: files, known: map[string]*page{}} }

// sendPages answers what no route of the table took: files of the application, and
// for every other path that a person's browser opens the application itself, which
// looks at the path. Programs that ask for a path that is not there get an error.
func sendPages(p *pages) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if m := c.Method(); m != fiber.MethodGet && m != fiber.MethodHead {
			return noPath(c)
		}
		name := strings.TrimPrefix(path.Clean(c.Path()), "/")
		if name != "" && name != "index.html" {
			switch file, err := p.file(name); {
			case err == nil:
				return file.send(c, strings.HasPrefix(name, "assets/"))
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
		if !wantsPage(c) {
			return noPath(c)
		}
		index, err := p.file("index.html")
		if errors.Is(err, fs.ErrNotExist) {
			index, err = &page{body: []byte(missingPages), mime: fiber.MIMETextHTMLCharsetUTF8, tag: `"none"`}, nil
		}
		if err != nil {
			return err
		}
		return index.send(c, false)
	}
}

func noPath(c *fiber.Ctx) error {
	return fault.New(fault.NotFound, "no such path: %s %s", c.Method(), c.Path())
}

// wantsPage tells a person's browser from a program: browsers say that they take
// HTML when a person goes somewhere.
func wantsPage(c *fiber.Ctx) bool {
	for _, prefix := range nonPagePrefixes {
		if strings.HasPrefix(c.Path()+"/", prefix) {
			return false
		}
	}
	return strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML)
}

// file reads a file and packs it, once.
func (p *pages) file(name string) (*page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.known[name]; ok {
		return f, nil
	}
	if p.files == nil || !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		return nil, fs.ErrNotExist
	}
	if info, err := fs.Stat(p.files, name); err != nil || info.IsDir() {
		return nil, fs.ErrNotExist
	}
	body, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	f := &page{body: body, mime: mimeOf(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	if f.packed, err = pack(body); err != nil {
		return nil, err
	}
	p.known[name] = f
	return f, nil
}

// mimeOf does not ask the machine's tables for the types that the pages are made
// of: a browser runs a script only under its right name.
func mimeOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return fiber.MIMETextHTMLCharsetUTF8
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		if t := mime.TypeByExtension(ext); t != "" {
			return t
		}
		return fiber.MIMEOctetStream
	}
}

// pack is nil for what gzip would hardly make smaller.
func pack(body []byte) ([]byte, error) {
	if len(body) < minGzipBytes {
		return nil, nil
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if b.Len() > len(body)*9/10 {
		return nil, nil
	}
	return b.Bytes(), nil
}

// send answers with a file. One whose name changes with its content stays in the
// browser for good; every other is asked for again each time.
func (f *page) send(c *fiber.Ctx, forGood bool) error {
	c.Set(fiber.HeaderContentSecurityPolicy, pagePolicy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderXFrameOptions, "DENY")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	if forGood {
		c.Set(fiber.HeaderCacheControl, immutableCache)
	}
	c.Set(fiber.HeaderETag, f.tag)
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	c.Set(fiber.HeaderContentType, f.mime)
	if c.Get(fiber.HeaderIfNoneMatch) == f.tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	if f.packed != nil && c.AcceptsEncodings("gzip") == "gzip" {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(f.packed)
	}
	return c.Send(f.body)
}
