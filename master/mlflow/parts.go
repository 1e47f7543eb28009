package mlflow

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Large files come in parts. MLflow's client asks for an address of each part, and sends the parts there without its own credentials: to the
// store, or to partsRoot of this interface, for which the answer has the credentials of the caller.

const (
	partsRoot  = Prefix + "/api/2.0/mlflow-artifacts/mpu/part"
	createRoot = Prefix + "/api/2.0/mlflow-artifacts/mpu/create"
	finishRoot = Prefix + "/api/2.0/mlflow-artifacts/mpu/complete"
	abortRoot  = Prefix + "/api/2.0/mlflow-artifacts/mpu/abort"
	linkRoot   = Prefix + "/api/2.0/mlflow-artifacts/presigned"
)

// within is the file in the folder of a request that a client names by its path on the client's machine.
func (f folder) within(local string) (folder, error) {
	if i := strings.LastIndexAny(local, `/\`); i >= 0 {
		local = local[i+1:]
	}
	f.path = path.Join(f.path, local)
	return f, checkpoints.CheckLoggedName(f.path)
}

// fileToWrite is within for a request that writes the file.
func (d Deps) fileToWrite(ctx context.Context, c *rest.Call, f folder, local string) (folder, error) {
	f, err := f.within(local)
	if err == nil {
		err = d.admitFile(ctx, c, f)
	}
	return f, err
}

func (d Deps) createUpload(ctx context.Context, c *rest.Call, f folder, req *v1.MLflowCreateUploadRequest) (*v1.MLflowUpload, error) {
	f, err := d.fileToWrite(ctx, c, f, req.Path)
	if err == nil {
		f, err = d.placed(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	id, addresses, err := d.Files.BeginUpload(ctx, f.checkpoint, f.path, req.Parts)
	if err != nil {
		return nil, err
	}
	out := &v1.MLflowUpload{ID: id, Parts: []v1.MLflowUploadPart{}}
	for i := range req.Parts {
		part := v1.MLflowUploadPart{Number: i + 1, Headers: map[string]string{}}
		if addresses != nil {
			part.URL = addresses[i]
		} else {
			part.URL = fmt.Sprintf("%s%s/%s?upload=%s&part=%d", addressOf(c, d.PublicURL), partsRoot, f.sent(), id, i+1)
			part.Headers["Authorization"] = c.Get("Authorization")
		}
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}

// sent is the path of a file as a client sends it.
func (f folder) sent() string {
	u := url.URL{Path: fmt.Sprintf("%d/%s/artifacts/%s", f.run.ProjectID, f.whose, f.path)}
	return u.EscapedPath()
}

// addressHeader is the header with which the runner says at which address the program of a task reaches the master.
const addressHeader = "X-Detent-Address"

// addressOf is where the caller reaches this master. An address in the header is one of the caller's own machine, so the credentials of an
// answer go nowhere else. Who has used the public name is answered with the public address, whatever a proxy says of the connection to it.
func addressOf(c *rest.Call, public string) string {
	if at, err := url.Parse(c.Get(addressHeader)); err == nil && at.Scheme == "http" && at.Hostname() == "127.0.0.1" {
		return "http://" + at.Host
	}
	if at, err := url.Parse(public); err == nil && at.Host != "" && at.Host == c.Host() {
		return at.Scheme + "://" + at.Host
	}
	if c.Secure() {
		return "https://" + c.Host()
	}
	return "http://" + c.Host()
}

func (d Deps) uploadPart(_ context.Context, c *rest.Call, f folder) error {
	upload, _ := c.Query("upload")
	text, _ := c.Query("part")
	n, err := rest.Number(text)
	if err != nil {
		return err
	}
	return d.receive(c, f, func(ctx context.Context, content io.ReaderAt, size int64) error {
		c.Set("ETag", fmt.Sprintf(`"%s-%d"`, upload, n))
		return d.Files.WritePart(ctx, f.checkpoint, f.path, upload, n, content, size)
	})
}

func (d Deps) finishUpload(ctx context.Context, c *rest.Call, f folder, req *v1.MLflowFinishUploadRequest) (*v1.Empty, error) {
	f, err := d.fileToWrite(ctx, c, f, req.Path)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, d.Files.FinishUpload(ctx, f.checkpoint, f.path, req.ID, func(ctx context.Context) error {
		return notRegistered(ctx, d.DB, f.checkpoint, f.path)
	})
}

func (d Deps) abortUpload(ctx context.Context, _ *rest.Call, f folder, req *v1.MLflowAbortUploadRequest) (*v1.Empty, error) {
	f, err := f.within(req.Path)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, d.Files.DropUpload(ctx, f.checkpoint, f.path, req.ID)
}

// link answers with the signed address of a file. Without its size, clients read the file from the master.
func (d Deps) link(ctx context.Context, _ *rest.Call, f folder, _ *v1.None) (*v1.MLflowLink, error) {
	if f.checkpoint == "" || f.path == "" {
		return nil, fault.New(fault.NotFound, "No such artifact: '%s'", fault.Clip(f.path))
	}
	address, size, err := d.Files.LinkLogged(ctx, f.checkpoint, f.path)
	out := &v1.MLflowLink{URL: address, Headers: map[string]string{}}
	if address != "" {
		out.Size = new(v1.Bare(size))
	}
	return out, err
}
