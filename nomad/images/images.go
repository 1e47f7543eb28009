package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// Made is an image in the user's cache.
type Made struct {
	Name, Tag string
	File      string // read by docker load and podman load
	Bill      string // the bill of materials
	Digest    string // of the layer
	Size      int64  // of the file
	Plain     int64  // of the files in it
}

// Tag is the version of the images that belong to this version of Detent.
func Tag() string { return v1.Version }

// Ensure returns an image from the cache, and makes it the first time.
func Ensure(ctx context.Context, name string, report *servers.Reporter) (Made, error) {
	r, err := Named(name)
	if err != nil {
		return Made{}, err
	}
	lock, err := readLock(name)
	if err != nil {
		return Made{}, err
	}
	cache, err := servers.CacheDir()
	if err != nil {
		return Made{}, err
	}
	recipe, err := json.Marshal(r)
	if err != nil {
		return Made{}, err
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(recipe), lock.Text(), finish, Tag(), release}, "\n")))
	dir := filepath.Join(cache, "images", fmt.Sprintf("%s-%s-%s", name, runtime.GOARCH, hex.EncodeToString(sum[:6])))
	err = servers.Once(ctx, dir, servers.Part{
		Lock: dir + ".lock", There: func() bool { _, err := os.Stat(dir); return err == nil },
		Making: fmt.Sprintf("making the image %s (%s)", name, r.Title), Waiting: "making the image " + name,
		Make: func(ctx context.Context, task *servers.Task) error {
			return r.make(ctx, dir, lock, task.Update, report)
		},
	}, report)
	if err != nil {
		return Made{}, err
	}
	return readMade(dir)
}

// facts of an image are in a file beside it.
const factsFile = "image.json"

func readMade(dir string) (m Made, err error) {
	text, err := os.ReadFile(filepath.Join(dir, factsFile))
	if err != nil {
		return Made{}, err
	}
	err = json.Unmarshal(text, &m)
	m.File, m.Bill = filepath.Join(dir, m.File), filepath.Join(dir, m.Bill)
	return m, err
}

// make makes an image in a temporary folder, which is renamed to dir.
func (r Recipe) make(ctx context.Context, dir string, lock Lock, say func(string), report *servers.Reporter) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("making images needs root, because their files belong to root")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	wheels, fresh := filepath.Join(work, "wheels"), filepath.Join(work, "image")
	if err := errors.Join(os.Mkdir(wheels, 0o755), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	pip, err := pyenv.Named(ctx, "pip", report)
	if err != nil {
		return err
	}
	say("downloading wheels")
	if err := lock.download(ctx, pip, wheels); err != nil {
		return err
	}
	say("installing packages")
	layer, err := NewLayer(filepath.Join(work, "layer"), func(w io.Writer) error { return r.writeRoot(ctx, w, work, lock, report) })
	if err != nil {
		return err
	}
	say("packing")
	m := Made{Name: r.Name, Tag: Tag(), Digest: layer.Digest, Size: layer.Size, Plain: layer.Plain,
		File: fmt.Sprintf("%s_%s_%s.tar", r.Name, Tag(), runtime.GOARCH), Bill: fmt.Sprintf("%s_%s_%s.cdx.json", r.Name, Tag(), runtime.GOARCH)}
	facts, err := json.Marshal(m)
	if err != nil {
		return err
	}
	err = errors.Join(
		written(filepath.Join(fresh, m.File), func(w io.Writer) error { return Pack(w, r.image(lock, layer)) }),
		written(filepath.Join(fresh, m.Bill), func(w io.Writer) error { return r.bill(w, work, Tag(), lock) }),
		os.WriteFile(filepath.Join(fresh, factsFile), facts, 0o644))
	if err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

// image is what the file of an image says about it.
func (r Recipe) image(lock Lock, layer *Layer) Image {
	return Image{Name: r.Name, Tag: Tag(), Arch: runtime.GOARCH, Time: lock.Made, Layer: layer, Config: Config{
		Env: r.Env, Cmd: []string{"bash"},
		Labels: map[string]string{"org.opencontainers.image.title": r.Name, "org.opencontainers.image.description": r.Title, "org.opencontainers.image.version": Tag()},
	}}
}

// written writes a new file.
func written(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
