package experiments

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// emptyTgz is the archive of an experiment that was submitted without code.
func emptyTgz() []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_ = tar.NewWriter(zip).Close() // into memory
	_ = zip.Close()
	return b.Bytes()
}

func (d Deps) modelDef(ctx context.Context, c *rest.Call, e Experiment) error {
	code, err := contexts.Get(ctx, d.DB, e.ContextHash)
	if err != nil {
		return err
	}
	if code == nil {
		return c.Send(&v1.GetModelDefResponse{B64Tgz: base64.StdEncoding.EncodeToString(emptyTgz())})
	}
	return d.Code.SendBase64(c, "b64Tgz", code)
}

// downloadModelDef sends the archive of an experiment's code.
func (d Deps) downloadModelDef(ctx context.Context, c *rest.Call, e Experiment) error {
	code, err := contexts.Get(ctx, d.DB, e.ContextHash)
	if err != nil {
		return err
	}
	c.Set("Content-Type", "application/x-gtar")
	c.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fmt.Sprintf("exp%d_model_def.tar.gz", e.ID)}))
	if code == nil {
		return c.SendBody(emptyTgz())
	}
	return d.Code.Send(c, code)
}

// eachContextFile calls fn for the files of an archive until it returns false.
func (d Deps) eachContextFile(ctx context.Context, code *contexts.Context, fn func(h *tar.Header, r io.Reader) (bool, error)) error {
	if code == nil {
		return nil
	}
	zip, err := gzip.NewReader(contexts.Read(ctx, d.DB, code))
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

// fileOfCode finds one file of the experiment's code. The file is read while it is sent. The
// reader ends when the server does, and a slow client holds no memory.
func (d Deps) fileOfCode(ctx context.Context, c *rest.Call, e Experiment, name string) (io.ReadCloser, int64, error) {
	code, err := contexts.Get(ctx, d.DB, e.ContextHash)
	if err != nil {
		return nil, 0, err
	}
	turn, err := d.Code.Begin(c)
	if err != nil {
		return nil, 0, err
	}
	var content io.Reader
	var size int64
	err = d.eachContextFile(turn.Ctx, code, func(h *tar.Header, r io.Reader) (bool, error) {
		if h.Name != strings.TrimPrefix(name, "./") {
			return true, nil
		}
		content, size = r, h.Size
		return false, nil
	})
	if err == nil && content == nil {
		err = fault.New(fault.NotFound, "the experiment's code has no file %q", fault.Clip(name))
	}
	if err != nil {
		turn.End()
		return nil, 0, err
	}
	return c.Paced(turn.End, content), size, nil
}

func (d Deps) downloadFile(ctx context.Context, c *rest.Call, e Experiment, req *v1.GetFileRequest) error {
	content, size, err := d.fileOfCode(ctx, c, e, req.Path)
	if err != nil {
		return err
	}
	// A browser must never show the file as a page of our origin: a user wrote it.
	c.Set("Content-Type", "application/octet-stream")
	c.Set("X-Content-Type-Options", "nosniff")
	c.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(req.Path)}))
	c.SendFrom(content, int(size))
	return nil
}

func (d Deps) modelFile(ctx context.Context, c *rest.Call, e Experiment) error {
	body, err := c.ReadBody(v1.SmallBody)
	if err != nil {
		return err
	}
	var req v1.FileRequest
	if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	content, size, err := d.fileOfCode(ctx, c, e, req.Path)
	if err != nil {
		return err
	}
	c.SendBase64("file", content, size)
	return nil
}
