package release

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/detent-ml/detent/nomad/images"
)

// images writes a container image of the master for each platform, without a registry or a base
// image. `docker load` and `podman load` read the file.
func (b *builder) images(ctx context.Context) error {
	for _, t := range b.Servers {
		entries, err := b.installation(ctx, t, installed)
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

func (b *builder) image(file string, t Target, installation []entry) (err error) {
	entries := []entry{{name: "tmp/.keep", mode: 0o644}} // a master stores uploads in /tmp
	for _, e := range installation {
		e.name = imageFolder + e.name
		entries = append(entries, e)
	}
	layer, err := images.NewLayer(filepath.Join(b.work, t.String()+".layer"), func(w io.Writer) error { return writeTar(w, entries, b.time) })
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed) // the layer is compressed already
	if err != nil {
		return err
	}
	err = images.Pack(z, images.Image{Name: "det-master", Tag: b.version, Arch: t.Arch, Time: b.time, Layer: layer, Config: images.Config{
		Env: []string{"PATH=/" + imageFolder[:len(imageFolder)-1]},
		// No entry point: the job file names the program, as usual with Nomad's drivers.
		Cmd: []string{"det-master", "serve"},
		Labels: map[string]string{"org.opencontainers.image.title": "det-master",
			"org.opencontainers.image.version": b.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}})
	return errors.Join(err, z.Close())
}
