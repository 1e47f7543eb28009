// Package artifacts is the room of the files that tasks fetch from the master: det-runner, det-remover, det and the Python package.
//
// Their addresses name the hash of their content, so nobody needs to sign in, a proxy may keep them, and all masters of a release serve the
// same. A master has programs for its own platform, and for others if an operator has put them beside these. artifacts.go has the files
// with their hashes, and their endpoints; archive.go packs the runner for containers into a tar. Package server reads the hashes at the
// start for the jobs of tasks; the claim of a runner names the others (package attempts).
package artifacts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Files are the files of a master.
type Files struct {
	RunnerDir  string // holds det-runner and det-remover, for /runner/<hash>/<os>-<arch> and /remover/<hash>/<os>-<arch>
	DetPath    string // det, for /cli/<hash>/<os>-<arch>; "" if tasks get no det
	HarnessDir string // the Python package, for /harness/<hash>.tar.gz; "" if tasks get none

	// The hashes are kept. A changed size or time means that a file has changed.
	mu       sync.Mutex
	programs map[string]artifact // by path
	packed   artifact            // the Python package
	looked   time.Time           // at the folder of the Python package
}

// Routes adds the endpoints of the files.
func (f *Files) Routes(r *rest.Router) {
	rest.Raw(r, v1.DownloadRunner, f.program(Runner))
	rest.Raw(r, v1.DownloadRemover, f.program(Remover))
	rest.Raw(r, v1.DownloadDet, f.det)
	rest.Raw(r, v1.DownloadHarness, f.harness)
}

// lookEvery is the time between two looks at the folder of the Python package: anybody may ask for it.
const lookEvery = time.Second

// artifact is a file, or a folder that is served as an archive.
type artifact struct {
	stamp string // sizes and times of the hashed files
	sha   string
	tgz   []byte // of a folder
}

// Programs that masters serve for each platform of nodes. Runner is the first process of every
// task; Remover is the program of tasks that remove checkpoints.
const (
	Runner  = "det-runner"
	Remover = "det-remover"
)

// Platform is the platform of this master, and of the file det-runner.
func Platform() string { return runtime.GOOS + "-" + runtime.GOARCH }

var platformName = regexp.MustCompile(`^[a-z0-9]+-[a-z0-9]+$`)

// Path is the path of a program for a platform: its name, or for another platform
// than this master's <name>-<os>-<arch> in the same folder.
func Path(dir, name, target string) string {
	if target == Platform() {
		return filepath.Join(dir, name)
	}
	return filepath.Join(dir, name+"-"+target)
}

// OtherPlatforms are the other platforms for which a folder has a runner.
func OtherPlatforms(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		target, is := strings.CutPrefix(e.Name(), Runner+"-")
		if is && e.Type().IsRegular() && platformName.MatchString(target) && target != Platform() {
			out = append(out, target)
		}
	}
	return out, nil
}

// DetHash is the hash of det, served at /cli/<hash>/<os>-<arch>.
func (f *Files) DetHash() (string, error) { return f.hashOf(f.DetPath) }

func (f *Files) hashOf(path string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("cannot read a program that tasks fetch: %w", err)
	}
	known, stamp := f.programs[path], stampOf(path, info)
	if known.stamp != stamp {
		if known.sha, err = Hash(path); err != nil {
			return "", err
		}
		if f.programs == nil {
			f.programs = map[string]artifact{}
		}
		known.stamp = stamp
		f.programs[path] = known
	}
	return known.sha, nil
}

func stampOf(path string, info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %d %o\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode().Perm())
}

// Hash is the SHA-256 of a file, in hexadecimal digits.
func Hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// program serves a program, and the runner also as a tar.
func (f *Files) program(name string) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		target, archived := c.Param("target"), false
		if name == Runner {
			target, archived = strings.CutSuffix(target, ".tar")
		}
		if !platformName.MatchString(target) {
			return fault.New(fault.NotFound, "%s: the address names no platform, such as %s", name, Platform())
		}
		path := Path(f.RunnerDir, name, target)
		sha, err := f.hashOf(path)
		if errors.Is(err, fs.ErrNotExist) && target != Platform() {
			return fault.New(fault.NotFound, "this master has no %s for %s, only for %s; an operator can put builds for other platforms beside it", name, target, Platform())
		}
		if err != nil {
			return err
		}
		if c.Param("sha") != sha {
			return fault.New(fault.NotFound, "this master serves the %s %s for %s", name, sha, target)
		}
		return f.sendProgram(c, path, archived)
	}
}

func (f *Files) det(_ context.Context, c *rest.Call) error {
	if f.DetPath == "" {
		return fault.New(fault.NotFound, "this master has no det for tasks; set det_path in its configuration")
	}
	sha, err := f.DetHash()
	if err != nil {
		return err
	}
	if c.Param("sha") != sha || c.Param("target") != Platform() {
		return fault.New(fault.NotFound, "this master serves det %s for %s", sha, Platform())
	}
	return f.sendProgram(c, f.DetPath, false)
}

func (f *Files) sendProgram(c *rest.Call, path string, archived bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	c.Set("Content-Type", "application/octet-stream")
	c.Set("Cache-Control", "public, immutable, max-age=31536000")
	if archived {
		c.SendFrom(newRunnerArchive(file, info.Size()), int(runnerArchiveSize(info.Size())))
		return nil
	}
	c.SendFrom(file, int(info.Size()))
	return nil
}

// HarnessHash is the hash of the Python package, served at /harness/<hash>.tar.gz.
func (f *Files) HarnessHash() (string, error) {
	h, err := f.packedHarness()
	return h.sha, err
}

func (f *Files) packedHarness() (artifact, error) {
	if f.HarnessDir == "" {
		return artifact{}, fault.New(fault.NotFound, "this master serves no Python package for tasks; its images must contain it (harness_path)")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	h := &f.packed
	if h.sha != "" && time.Since(f.looked) < lookEvery {
		return *h, nil
	}
	files, stamp, err := harnessFiles(f.HarnessDir)
	if err != nil {
		return artifact{}, fmt.Errorf("cannot read the Python package for tasks: %w", err)
	}
	if f.looked = time.Now(); h.stamp != stamp {
		tgz, err := packFiles(f.HarnessDir, files)
		if err != nil {
			return artifact{}, err
		}
		sum := sha256.Sum256(tgz)
		*h = artifact{stamp: stamp, sha: hex.EncodeToString(sum[:]), tgz: tgz}
	}
	return *h, nil
}

// harnessFiles lists the files of the package, without files that Python and tools create, and
// their sizes and times.
func harnessFiles(dir string) (files []string, stamp string, err error) {
	var b strings.Builder
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if path != dir && (strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".egg-info") || slices.Contains([]string{"__pycache__", "tests", "build", "dist"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".pyc") {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files = append(files, path)
		b.WriteString(stampOf(path, info))
		return nil
	})
	slices.Sort(files)
	return files, b.String(), err
}

// packFiles packs files reproducibly, without times and owners, so that all masters of a
// release serve the same hash.
func packFiles(dir string, files []string) ([]byte, error) {
	var tgz bytes.Buffer
	zip := gzip.NewWriter(&tgz)
	w := tar.NewWriter(zip)
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return tgz.Bytes(), nil
}

func (f *Files) harness(_ context.Context, c *rest.Call) error {
	h, err := f.packedHarness()
	if err != nil {
		return err
	}
	if c.Param("name") != h.sha+".tar.gz" {
		return fault.New(fault.NotFound, "this master serves the Python package %s.tar.gz", h.sha)
	}
	c.Set("Content-Type", "application/gzip")
	c.Set("Cache-Control", "public, immutable, max-age=31536000")
	return c.SendBody(h.tgz)
}
