package rig

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Container images for tests are built from files of this machine, without a registry: its
// Python with its standard library, a few programs, and the shared libraries that these need.

// A rootFS collects the files of an image.
type rootFS struct {
	w    *tar.Writer
	have map[string]bool
}

// WriteImage writes the root file system of an image, as a tar, with Python and the named
// programs.
func WriteImage(ctx context.Context, out io.Writer, programs ...string) error {
	r := &rootFS{w: tar.NewWriter(out), have: map[string]bool{}}
	for _, dir := range []string{"usr", "usr/bin", "usr/lib", "usr/lib64", "usr/local", "usr/local/bin", "usr/local/lib", "etc", "root", "proc", "sys", "dev"} {
		if err := r.dir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := r.dir("tmp", 0o1777); err != nil {
		return err
	}
	for name, to := range map[string]string{"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"} {
		if err := r.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}, nil); err != nil {
			return err
		}
	}
	if err := r.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"); err != nil {
		return err
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if err := r.program(ctx, path, "usr/bin/"+name); err != nil {
			return err
		}
	}
	if err := r.python(ctx); err != nil {
		return err
	}
	// ldd does not list these: threads load the first when they end, and Python's packages load the others.
	for _, pattern := range []string{"/lib/*/libgcc_s.so.1", "/lib64/libgcc_s.so.1", "/lib/libgcc_s.so.1",
		"/usr/lib/*/libstdc++.so.6", "/lib/*/librt.so.1", "/lib/*/libpthread.so.0", "/lib/*/libdl.so.2", "/lib/*/libutil.so.1", "/lib/*/libm.so.6"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := r.program(ctx, path, "usr/"+strings.TrimPrefix(strings.TrimPrefix(path, "/"), "usr/")); err != nil {
				return err
			}
		}
	}
	return r.w.Close()
}

// python adds the interpreter under /usr/local, where it finds its standard library.
func (r *rootFS) python(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "python3", "-c", "import os, sys, sysconfig; "+
		"print(os.path.realpath(sys.executable)); print(sysconfig.get_path('stdlib')); print('python%d.%d' % sys.version_info[:2])").Output()
	if err != nil {
		return fmt.Errorf("python3 of this machine: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) != 3 {
		return fmt.Errorf("cannot read the version and folders of this machine's python3 from %q", out)
	}
	binary, library, version := words[0], words[1], words[2]
	if err := r.program(ctx, binary, "usr/local/bin/"+version); err != nil {
		return err
	}
	for _, name := range []string{"python3", "python"} {
		if err := r.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/local/bin/" + name, Linkname: version, Mode: 0o777}, nil); err != nil {
			return err
		}
	}
	unneeded := map[string]bool{"test": true, "tests": true, "idlelib": true, "tkinter": true, "turtledemo": true, "ensurepip": true,
		"site-packages": true, "dist-packages": true, "lib2to3": true, "pydoc_data": true}
	return filepath.WalkDir(library, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(library, path)
		if err != nil {
			return err
		}
		to := filepath.Join("usr/local/lib", version, rel)
		switch {
		case e.IsDir() && (unneeded[e.Name()] || strings.HasPrefix(e.Name(), "config-")):
			return filepath.SkipDir
		case e.IsDir():
			return r.dir(to, 0o755)
		case strings.HasSuffix(path, ".so"):
			return r.program(ctx, path, to)
		}
		return r.file(path, to, 0o644)
	})
}

// program adds an executable and its shared libraries.
func (r *rootFS) program(ctx context.Context, path, to string) error {
	if err := r.file(path, to, 0o755); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "ldd", path).CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("not a dynamic executable")) || bytes.Contains(out, []byte("statically linked")) {
			return nil
		}
		return fmt.Errorf("ldd %s: %w: %s", path, err, out)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		for _, word := range strings.Fields(lines.Text()) {
			if !filepath.IsAbs(word) {
				continue
			}
			where := strings.TrimPrefix(filepath.Clean(word), "/")
			for _, merged := range []string{"lib/", "lib64/"} { // links to folders of the same name below usr
				if strings.HasPrefix(where, merged) {
					where = "usr/" + where
				}
			}
			if err := r.file(word, where, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// file adds a file, unless it was added before.
func (r *rootFS) file(path, to string, mode int64) error {
	if r.have[to] {
		return nil
	}
	for dir := filepath.Dir(to); dir != "."; dir = filepath.Dir(dir) {
		if err := r.dir(dir, 0o755); err != nil {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	// With its time in whole seconds, by which Python knows that what it has compiled of a module is of this file.
	return r.add(&tar.Header{Typeflag: tar.TypeReg, Name: to, Mode: mode, Size: info.Size(), ModTime: info.ModTime().Truncate(time.Second)}, f)
}

func (r *rootFS) text(to, content string) error {
	return r.add(&tar.Header{Typeflag: tar.TypeReg, Name: to, Mode: 0o644, Size: int64(len(content))}, strings.NewReader(content))
}

func (r *rootFS) dir(name string, mode int64) error {
	return r.add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}, nil)
}

func (r *rootFS) add(h *tar.Header, content io.Reader) error {
	key := strings.TrimSuffix(h.Name, "/")
	if r.have[key] {
		return nil
	}
	r.have[key] = true
	if err := r.w.WriteHeader(h); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	_, err := io.Copy(r.w, content)
	return err
}
