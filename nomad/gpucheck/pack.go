package gpucheck

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// MaxSize is the largest size of a pack in bytes. Services that lend such machines limit what travels there.
const MaxSize = 60_000_000

// folder is the only folder of a pack: python3 runs it.
const folder = "gpu-check"

// Write packs, and returns the size of the archive. A pack that is too large is an error, and stays where it is.
func Write(ctx context.Context, o Options) (size int64, err error) {
	parts, err := o.parts(ctx)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(o.Out), 0o755); err != nil {
		return 0, err
	}
	f, err := os.Create(o.Out)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(compressed(ctx, f, func(w io.Writer) error { return writeTar(w, parts) }), f.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(o.Out)
	if err != nil {
		return 0, err
	}
	if info.Size() > MaxSize {
		return info.Size(), fmt.Errorf("%s has %.1f MB, and a pack may have %.0f MB; pack fewer wheels", o.Out, float64(info.Size())/1e6, float64(MaxSize)/1e6)
	}
	return info.Size(), nil
}

// compressed runs xz, which makes programs a third smaller than gzip does, and which each Python can unpack.
func compressed(ctx context.Context, to io.Writer, write func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "xz", "--x86", "--lzma2=preset=6,dict=32MiB", "-T1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("packing needs xz (Debian: apt-get install xz-utils): %w", err)
	}
	wrote := write(in)
	if wrote != nil {
		cancel() // an archive that ends early must not look whole
	}
	if err := errors.Join(wrote, in.Close(), cmd.Wait()); err != nil {
		return fmt.Errorf("%w %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

func writeTar(to io.Writer, parts []part) error {
	w := tar.NewWriter(to)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/__main__.py", Mode: 0o644, Size: int64(len(start))}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.WriteString(w, start); err != nil {
		return err
	}
	for _, p := range parts {
		names, paths, err := p.files()
		if err != nil {
			return err
		}
		for i, name := range names {
			if err := addFile(w, folder+"/"+name, paths[i]); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// addFile adds a file or a link, readable for everybody: PostgreSQL may run as another user.
func addFile(w *tar.Writer, name, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size()}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		if h.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		h.Typeflag, h.Size = tar.TypeSymlink, 0
		return w.WriteHeader(h)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a link", path)
	case info.Mode()&0o111 != 0:
		h.Mode = 0o755
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
