package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"time"
)

// Config is what programs get in containers of an image.
type Config struct {
	Env    []string          `json:"Env,omitempty"`
	Cmd    []string          `json:"Cmd,omitempty"`
	Labels map[string]string `json:"Labels,omitempty"`
}

// An Image is what Pack writes.
type Image struct {
	Name, Tag string
	Arch      string
	Time      time.Time
	Config    Config
	Layer     *Layer
}

// A Layer is a compressed file on disk with a tar of files.
type Layer struct {
	Path   string
	Digest string // of the file
	Diff   string // of the tar
	Size   int64  // of the file
	Plain  int64  // of the tar
}

// counted hashes and counts what is written to it.
type counted struct {
	hash.Hash
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}

func (c *counted) digest() string { return "sha256:" + hex.EncodeToString(c.Sum(nil)) }

// NewLayer compresses a tar that write writes into a new file.
func NewLayer(path string, write func(io.Writer) error) (l *Layer, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	packed, plain := &counted{Hash: sha256.New()}, &counted{Hash: sha256.New()}
	z, err := gzip.NewWriterLevel(io.MultiWriter(f, packed), gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := write(io.MultiWriter(z, plain)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return &Layer{Path: path, Digest: packed.digest(), Diff: plain.digest(), Size: packed.n, Plain: plain.n}, nil
}

// A blob is a part of an image, named by its hash.
type blob struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int64             `json:"size"`
	Notes     map[string]string `json:"annotations,omitempty"`
	content   []byte
}

func jsonBlob(mediaType string, v any) (blob, error) {
	content, err := json.Marshal(v)
	sum := sha256.Sum256(content)
	return blob{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(content)), content: content}, err
}

func path(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

// Pack writes an image as a tar that `docker load` and `podman load` read: an OCI image layout with a manifest.json
// for older versions of them.
func Pack(out io.Writer, img Image) error {
	config, err := jsonBlob("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": img.Arch, "os": "linux", "created": img.Time, "config": img.Config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{img.Layer.Diff}},
	})
	if err != nil {
		return err
	}
	layer := blob{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip", Digest: img.Layer.Digest, Size: img.Layer.Size}
	manifest, err := jsonBlob("application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []blob{layer}})
	if err != nil {
		return err
	}
	name := img.Name + ":" + img.Tag
	manifest.Notes = map[string]string{"io.containerd.image.name": "docker.io/library/" + name, "org.opencontainers.image.ref.name": img.Tag}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []blob{manifest}})
	if err != nil {
		return err
	}
	old, err := json.Marshal([]map[string]any{{"Config": path(config.Digest), "RepoTags": []string{name}, "Layers": []string{path(layer.Digest)}}})
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	for _, dir := range []string{"blobs/", "blobs/sha256/"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: img.Time, Format: tar.FormatPAX}); err != nil {
			return err
		}
	}
	file := func(name string, size int64, content io.Reader) error {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: img.Time, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err := io.Copy(w, content)
		return err
	}
	for _, x := range []struct {
		name    string
		content []byte
	}{{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", index}, {"manifest.json", old}, {path(config.Digest), config.content}, {path(manifest.Digest), manifest.content}} {
		if err := file(x.name, int64(len(x.content)), bytes.NewReader(x.content)); err != nil {
			return err
		}
	}
	f, err := os.Open(img.Layer.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := file(path(layer.Digest), layer.Size, f); err != nil {
		return err
	}
	return w.Close()
}
