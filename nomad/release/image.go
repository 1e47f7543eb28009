package release

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// images writes a container image of the master for each platform, without a registry or a base
// image. `docker load` and `podman load` read the file; it is an OCI image layout with a
// manifest.json for older versions of them.
func (b *builder) images(ctx context.Context) error {
	for _, t := range b.Servers {
		entries, err := b.installation(ctx, t)
		if err != nil {
			return err
		}
		file := b.file("det-master-image_%s_%s.tar.gz", b.version, t)
		b.say("making the container image for %s", t)
		if err := b.image(file, t, entries); err != nil {
			return fmt.Errorf("cannot make the container image for %s: %w", t, err)
		}
	}
	return nil
}

// folder of the installation in the image.
const imageFolder = "opt/detent/"

// blob is a part of an image, named by its hash.
type blob struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Notes     map[string]string `json:"annotations,omitempty"`
	content   []byte
}

func newBlob(mediaType string, content []byte) blob {
	sum := sha256.Sum256(content)
	return blob{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(content), content: content}
}

func jsonBlob(mediaType string, v any) (blob, error) {
	content, err := json.Marshal(v)
	return newBlob(mediaType, content), err
}

func (b blob) path() string { return "blobs/sha256/" + b.Digest[len("sha256:"):] }

func (b *builder) image(file string, t Target, installation []entry) error {
	layer, diff, err := b.layer(installation)
	if err != nil {
		return err
	}
	name := "det-master:" + b.version
	config, err := jsonBlob("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": t.Arch, "os": t.OS, "created": b.time,
		"config": map[string]any{
			"Env": []string{"PATH=/" + imageFolder[:len(imageFolder)-1]},
			// No entry point: the job file names the program, as usual with Nomad's drivers.
			"Cmd": []string{"det-master", "serve"},
			"Labels": map[string]string{"org.opencontainers.image.title": "det-master",
				"org.opencontainers.image.version": b.version, "org.opencontainers.image.licenses": "Apache-2.0"},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diff}},
	})
	if err != nil {
		return err
	}
	manifest, err := jsonBlob("application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []blob{layer}})
	if err != nil {
		return err
	}
	manifest.Notes = map[string]string{"io.containerd.image.name": "docker.io/library/" + name, "org.opencontainers.image.ref.name": b.version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []blob{manifest}})
	if err != nil {
		return err
	}
	docker, err := json.Marshal([]map[string]any{{"Config": config.path(), "RepoTags": []string{name}, "Layers": []string{layer.path()}}})
	if err != nil {
		return err
	}
	return pack(file, []entry{
		{name: "oci-layout", text: `{"imageLayoutVersion":"1.0.0"}`, mode: 0o644},
		{name: "index.json", text: string(index), mode: 0o644},
		{name: "manifest.json", text: string(docker), mode: 0o644},
		{name: config.path(), text: string(config.content), mode: 0o644},
		{name: manifest.path(), text: string(manifest.content), mode: 0o644},
		{name: layer.path(), text: string(layer.content), mode: 0o644},
	}, b.time)
}

// layer packs the installation as the only layer of an image. It also returns the hash of the
// uncompressed layer, which the image's configuration contains.
func (b *builder) layer(installation []entry) (blob, string, error) {
	entries := []entry{{name: "tmp/.keep", mode: 0o644}} // a master stores uploads in /tmp
	for _, e := range installation {
		e.name = imageFolder + e.name
		entries = append(entries, e)
	}
	var plain, packed bytes.Buffer
	if err := writeTar(&plain, entries, b.time); err != nil {
		return blob{}, "", err
	}
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return blob{}, "", err
	}
	_, err = z.Write(plain.Bytes())
	if err := errors.Join(err, z.Close()); err != nil {
		return blob{}, "", err
	}
	sum := sha256.Sum256(plain.Bytes())
	return newBlob("application/vnd.oci.image.layer.v1.tar+gzip", packed.Bytes()), "sha256:" + hex.EncodeToString(sum[:]), nil
}
