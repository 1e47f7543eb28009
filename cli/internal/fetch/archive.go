package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/detent-ml/detent/master/fault"
)

// throughMaster unpacks the archive that the master sends.
func (o Options) throughMaster(ctx context.Context, dir string) error {
	body, err := o.Client.CheckpointArchive(ctx, o.Checkpoint.UUID)
	if err != nil {
		return err
	}
	defer body.Close()
	err = o.unpack(body, dir)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unpack extracts a gzipped tar of files and folders.
func (o Options) unpack(r io.Reader, dir string) error {
	gz, err := gzip.NewReader(r)
	if err != nil {
		return brokenSource(err)
	}
	dst, err := os.OpenRoot(dir)
	if err != nil {
		return localTrouble(err)
	}
	defer dst.Close()
	archive := tar.NewReader(gz)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return brokenSource(err)
		}
		name := path.Clean(header.Name)
		if name == "." {
			continue
		}
		if !filepath.IsLocal(name) {
			return fault.New(fault.Invalid, "the archive contains %q, which is outside of the folder; no file was stored", header.Name)
		}
		folder := name
		if header.Typeflag != tar.TypeDir {
			folder = path.Dir(name)
		}
		if err := dst.MkdirAll(folder, 0o777); err != nil {
			return localTrouble(err)
		}
		if header.Typeflag == tar.TypeReg {
			if err := o.writeFile(dst, name, archive); err != nil {
				return err
			}
		}
	}
	if _, err := io.Copy(io.Discard, gz); err != nil { // verifies the checksum at the end
		return brokenSource(err)
	}
	return nil
}

// indent formats JSON with an indentation of two spaces.
func indent(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}
