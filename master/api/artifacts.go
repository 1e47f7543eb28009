package api

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

// Files that tasks fetch from the master: programs and the Python package. They need no
// sign-in; their names are hashes of their content.

func (a *API) registerArtifacts() {
	rest.Raw(a.router, v1.DownloadRunner, a.program(Runner))
	rest.Raw(a.router, v1.DownloadRemover, a.program(Remover))
	rest.Raw(a.router, v1.DownloadDet, a.det)
	rest.Raw(a.router, v1.DownloadHarness, a.harness)
}

// artifacts caches the hashes of these files. A changed size or time means that a file has
// changed.
type artifacts struct {
	mu       sync.Mutex
	programs map[string]artifact // by path
	harness  artifact
	looked   time.Time // at the folder of harness
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

// RunnerTarget is the platform of this master, and of the file det-runner.
func RunnerTarget() string { return runtime.GOOS + "-" + runtime.GOARCH }

var runnerTarget = regexp.MustCompile(`^[a-z0-9]+-[a-z0-9]+$`)

// ProgramFile is the path of a program for a platform: its name, or for another platform
// than this master's <name>-<os>-<arch> in the same folder.
func ProgramFile(dir, name, target string) string {
	if target == RunnerTarget() {
		return filepath.Join(dir, name)
	}
	return filepath.Join(dir, name+"-"+target)
}

// OtherRunners are the other platforms for which a folder has a runner.
func OtherRunners(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		target, is := strings.CutPrefix(e.Name(), Runner+"-")
		if is && e.Type().IsRegular() && runnerTarget.MatchString(target) && target != RunnerTarget() {
			out = append(out, target)
		}
	}
	return out, nil
}

// DetSHA is the hash of det, served at /cli/<hash>/<target>.
func (a *API) DetSHA() (string, error) { return a.programSHA(a.cfg.DetPath) }

func (a *API) programSHA(path string) (string, error) {
	a.artifacts.mu.Lock()
	defer a.artifacts.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("cannot read a program that tasks fetch: %w", err)
	}
	known, stamp := a.artifacts.programs[path], stampOf(path, info)
	if known.stamp != stamp {
		if known.sha, err = HashOfFile(path); err != nil {
			return "", err
		}
		if a.artifacts.programs == nil {
			a.artifacts.programs = map[string]artifact{}
		}
		known.stamp = stamp
		a.artifacts.programs[path] = known
	}
	return known.sha, nil
}

func stampOf(path string, info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %d %o\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode().Perm())
}

// HashOfFile is the SHA-256 of a file, in hexadecimal digits.
func HashOfFile(path string) (string, error) {
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
func (a *API) program(name string) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		target, archived := c.Param("target"), false
		if name == Runner {
			target, archived = strings.CutSuffix(target, ".tar")
		}
		if !runnerTarget.MatchString(target) {
			return fault.New(fault.NotFound, "%s: the address names no platform, such as %s", name, RunnerTarget())
		}
		path := ProgramFile(a.cfg.RunnerDir, name, target)
		sha, err := a.programSHA(path)
		if errors.Is(err, fs.ErrNotExist) && target != RunnerTarget() {
			return fault.New(fault.NotFound, "this master has no %s for %s, only for %s; an operator can put builds for other platforms beside it", name, target, RunnerTarget())
		}
		if err != nil {
			return err
		}
		if c.Param("sha") != sha {
			return fault.New(fault.NotFound, "this master serves the %s %s for %s", name, sha, target)
		}
		return a.sendProgram(c, path, archived)
	}
}

func (a *API) det(_ context.Context, c *rest.Call) error {
	if a.cfg.DetPath == "" {
		return fault.New(fault.NotFound, "this master has no det for tasks; set det_path in its configuration")
	}
	sha, err := a.DetSHA()
	if err != nil {
		return err
	}
	if c.Param("sha") != sha || c.Param("target") != RunnerTarget() {
		return fault.New(fault.NotFound, "this master serves det %s for %s", sha, RunnerTarget())
	}
	return a.sendProgram(c, a.cfg.DetPath, false)
}

func (a *API) sendProgram(c *rest.Call, path string, archived bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	c.Set("Content-Type", "application/octet-stream")
	c.Set("Cache-Control", "public, immutable, max-age=31536000")
	if archived {
		c.SendFrom(newRunnerArchive(f, info.Size()), int(runnerArchiveSize(info.Size())))
		return nil
	}
	c.SendFrom(f, int(info.Size()))
	return nil
}

// HarnessSHA is the hash of the Python package, served at /harness/<hash>.tar.gz.
func (a *API) HarnessSHA() (string, error) {
	h, err := a.packedHarness()
	return h.sha, err
}

func (a *API) packedHarness() (artifact, error) {
	if a.cfg.HarnessDir == "" {
		return artifact{}, fault.New(fault.NotFound, "this master serves no Python package for tasks; its images must contain it (harness_path)")
	}
	a.artifacts.mu.Lock()
	defer a.artifacts.mu.Unlock()
	h := &a.artifacts.harness
	if h.sha != "" && time.Since(a.artifacts.looked) < lookEvery {
		return *h, nil
	}
	files, stamp, err := harnessFiles(a.cfg.HarnessDir)
	if err != nil {
		return artifact{}, fmt.Errorf("cannot read the Python package for tasks: %w", err)
	}
	if a.artifacts.looked = time.Now(); h.stamp != stamp {
		tgz, err := packFiles(a.cfg.HarnessDir, files)
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

func (a *API) harness(_ context.Context, c *rest.Call) error {
	h, err := a.packedHarness()
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
