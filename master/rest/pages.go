package rest

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
	// pagePolicy allows pages to load only content of this master. Styles are set through the
	// CSSOM, which needs no exception; data: is for small images in the style sheet.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// ImmutableCache is for files whose name changes with their content.
	ImmutableCache = "public, max-age=31536000, immutable"
	// minGzipBytes is the minimum size for gzip.
	minGzipBytes = 1024
)

const missingPages = `<!doctype html><meta charset="utf-8"><title>Detent</title>
<h1>This master was built without its pages</h1>
<p>Everything else works. To get the pages, run <code>./justw build</code> in the source and start the
det-master that it makes; a det-master built with the tag <code>no_ui</code> has none.</p>
<p><a href="/docs/rest-api">The REST API</a></p>
`

// pages serves files for browsers. They are compressed at the first request, and cached.
type pages struct {
	files fs.FS
	mu    sync.Mutex
	known map[string]*page
}

// page is a cached file.
type page struct {
	body, packed []byte // packed is nil if gzip saves nothing
	mime, tag    string
}

func newPages(files fs.FS) *pages { return &pages{files: files, known: map[string]*page{}} }

// sendPage answers requests without a route: files of the web application, and for every other
// path that a browser opens the application itself, which handles the path. Programs get an
// error for an unknown path.
func (r *Router) sendPage(c *fiber.Ctx) error {
	if m := c.Method(); m != fiber.MethodGet && m != fiber.MethodHead {
		return noPath(c)
	}
	name := strings.TrimPrefix(path.Clean(c.Path()), "/")
	if name != "" && name != "index.html" {
		switch file, err := r.pages.file(name); {
		case err == nil:
			return file.send(c, strings.HasPrefix(name, "assets/"))
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if !r.callOf(c).WantsPage() {
		return noPath(c)
	}
	index, err := r.pages.file("index.html")
	if errors.Is(err, fs.ErrNotExist) {
		index, err = &page{body: []byte(missingPages), mime: fiber.MIMETextHTMLCharsetUTF8, tag: `"none"`}, nil
	}
	if err != nil {
		return err
	}
	return index.send(c, false)
}

func noPath(c *fiber.Ctx) error {
	hint := ""
	if p := c.Path() + "/"; strings.HasPrefix(p, "/docs/") { // where Determined's masters had a copy of its documentation
		hint = "; this master has /docs/rest-api and /docs/python, and no copy of Determined's documentation"
	}
	return fault.New(fault.NotFound, "no such path: %s %s%s", c.Method(), c.Path(), hint)
}

// WantsPage reports whether a browser opens a page: browsers accept HTML when the user opens an
// address. The start page answers everybody, because people and load balancers ask it whether the master
// runs, and so do Determined's addresses of pages.
func (q *Request) WantsPage() bool {
	if q.Path() == "/" || q.Path() == "/det" || strings.HasPrefix(q.Path(), "/det/") {
		return true
	}
	for _, prefix := range q.router.cfg.NonPages {
		if strings.HasPrefix(q.Path()+"/", prefix) {
			return false
		}
	}
	return strings.Contains(q.Get(fiber.HeaderAccept), fiber.MIMETextHTML)
}

// file reads a file and compresses it, once.
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

// mimeOf does not use the machine's table for the types of the pages' files: browsers run a
// script only with the right type.
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

// pack returns nil if gzip saves almost nothing.
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

// send sends a file. Browsers cache a file whose name changes with its content for ever, and
// request every other file each time.
func (f *page) send(c *fiber.Ctx, forGood bool) error {
	c.Set(fiber.HeaderContentSecurityPolicy, pagePolicy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderXFrameOptions, "DENY")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	if forGood {
		c.Set(fiber.HeaderCacheControl, ImmutableCache)
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
