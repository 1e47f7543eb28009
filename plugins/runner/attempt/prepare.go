//go:build linux

package attempt

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/detent-ml/detent/master/quote"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/masters"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
	"github.com/detent-ml/detent/plugins/runner/unpack"
)

// runDir is where Determined's harness and programs written for it look.
const runDir = "/run/determined"

// maxArchive bounds a downloaded archive.
const maxArchive = 2 << 30

// arrange decides where things lie and makes the folders. bare says that nothing
// can be mounted.
//
// Everything is prepared in the physical run directory. Under a driver that gives
// tasks their own root that is /run/determined itself; else it lies in the task's
// folder and is mounted there, and where not even that is possible, programs are
// told its real path.
func arrange(p *NomadTask, spec *v1.TaskSpec, bare bool) (layout, error) {
	l := layout{runDir: runDir, physical: p.local("run")}
	if p.PrivateRoot && writable(runDir) {
		l.physical = runDir
	}
	if bare && l.physical != runDir {
		l.runDir = l.physical
	}
	l.workDir = l.inRun("workdir")
	if spec.WorkDir != "" {
		l.workDir = l.relocate(spec.WorkDir)
	}
	for _, dir := range []string{
		filepath.Join(l.physical, "workdir"), filepath.Join(l.physical, "info"), filepath.Join(l.physical, "train"),
		p.local("stage"), p.local("spill"), p.local("files"), p.shared("reports"),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return l, fmt.Errorf("cannot create the task's folders: %w", err)
		}
	}
	if err := l.placeScratch(p.PrivateRoot); err != nil {
		return l, err
	}
	model, err := l.placeCode(p.PrivateRoot)
	if err != nil {
		return l, err
	}
	err = os.Symlink(model, filepath.Join(l.physical, "train", "model"))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return l, fmt.Errorf("cannot create the task's folders: %w", err)
	}
	return l, nil
}

// placeScratch makes a folder for temporary files that goes with the task. A root
// of the task's own has one. On a bare node /tmp is everybody's, and what trials
// leave there would stay for good; but where programs are told the run directory's
// real path, that is too long for the sockets that Python opens among its temporary
// files.
func (l *layout) placeScratch(privateRoot bool) error {
	if privateRoot || l.runDir != runDir {
		return nil
	}
	l.scratch = l.inRun("tmp")
	dir := filepath.Join(l.physical, "tmp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create the task's folders: %w", err)
	}
	return os.Chmod(dir, 0o777|os.ModeSticky)
}

// writable tells whether a folder can be made and used.
func writable(dir string) bool {
	if os.MkdirAll(dir, 0o755) != nil {
		return false
	}
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}

// relocate turns a path of a spec into one that programs see: relative ones lie
// in the working directory, and the run directory may have moved.
func (l layout) relocate(p string) string {
	if !path.IsAbs(p) {
		p = runDir + "/workdir/" + p
	}
	p = path.Clean(p)
	if p == runDir || strings.HasPrefix(p, runDir+"/") {
		return l.runDir + strings.TrimPrefix(p, runDir)
	}
	return p
}

// onNode is where this process writes what programs see at a path in the run
// directory; ok is false for paths elsewhere.
func (l layout) onNode(p string) (string, bool) {
	p = l.relocate(p)
	if p != l.runDir && !strings.HasPrefix(p, l.runDir+"/") {
		return "", false
	}
	return l.physical + strings.TrimPrefix(p, l.runDir), true
}

// writeFiles writes the spec's small files. Those outside of the run directory
// are written aside and come back as mounts, unless the root is the task's own.
func writeFiles(p *NomadTask, l layout, files []v1.TaskFile, fill *strings.Replacer) ([]sandbox.Bind, error) {
	var binds []sandbox.Bind
	for i, f := range files {
		mode := os.FileMode(f.Mode).Perm()
		if mode == 0 {
			mode = 0o600
		}
		target := l.relocate(f.Path)
		where, inRun := l.onNode(f.Path)
		if !inRun {
			where = target
			if !p.PrivateRoot {
				where = p.local("files", fmt.Sprint(i))
				binds = append(binds, sandbox.Bind{Source: where, Target: target})
			}
		}
		content := []byte(fill.Replace(string(f.Content)))
		if err := writeFile(where, content, mode); err != nil {
			return nil, fmt.Errorf("the task's file %s cannot be written: %w", f.Path, err)
		}
	}
	return binds, nil
}

// writeDevices tells programs which GPUs they have, unless the spec does.
func writeDevices(l layout, env map[string]string) error {
	file := filepath.Join(l.physical, "info", "resources.json")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	uuids := []string{}
	_, visible := toldDevices(env)
	for _, id := range visible {
		if strings.HasPrefix(id, "GPU-") || strings.HasPrefix(id, "MIG-") {
			uuids = append(uuids, id)
		}
	}
	content, err := json.Marshal(map[string]any{"gpu_uuids": uuids})
	if err != nil {
		return err
	}
	return writeFile(file, content, 0o644)
}

func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask says
}

// pythonShim puts the pool's interpreter first on PATH, under both its names.
func pythonShim(l *layout, prefer string) error {
	if prefer == "" {
		return nil
	}
	for _, name := range []string{"python3", "python"} {
		script := "#!/bin/sh\nexec " + quote.Shell(prefer) + " \"$@\"\n"
		if err := writeFile(filepath.Join(l.physical, "bin", name), []byte(script), 0o755); err != nil {
			return fmt.Errorf("the pool's Python cannot be put on PATH: %w", err)
		}
	}
	l.pythonShim = l.inRun("bin")
	return nil
}

// fetchContext downloads the user's code into the working directory.
func fetchContext(ctx context.Context, p *NomadTask, list *masters.List, token, url string, l layout) error {
	if url == "" {
		return nil
	}
	err := fetch(ctx, list, token, url, p.local("context.tgz"), l.codeDir)
	if err != nil {
		return fmt.Errorf("the code of this task could not be fetched: %w", err)
	}
	return nil
}

// fetchHarness makes the Python package that belongs to the master available:
// from a folder of the node, or downloaded. The program may ask for its own.
func fetchHarness(ctx context.Context, p *NomadTask, list *masters.List, token string, env map[string]string) (string, error) {
	if env["DET_SKIP_HARNESS"] != "" || env["DET_USE_INSTALLED_HARNESS"] == "1" {
		return "", nil
	}
	if dir := env["DET_HARNESS"]; dir != "" {
		return dir, nil
	}
	if env["DET_HARNESS_URL"] == "" {
		return "", nil
	}
	dir := p.local("harness")
	if err := fetch(ctx, list, token, env["DET_HARNESS_URL"], p.local("harness.tgz"), dir); err != nil {
		return "", fmt.Errorf("the Python package of the master could not be fetched: %w", err)
	}
	return dir, nil
}

// fetch downloads an archive from a master and unpacks it.
func fetch(ctx context.Context, list *masters.List, token, url, file, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := download(ctx, list, token, url, file); err != nil {
		return err
	}
	defer os.Remove(file)
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	content, err := archiveIn(archive)
	if err != nil || content == nil {
		return err
	}
	return unpack.TarGz(content, dir, unpack.Limits{})
}

// A cutError is a download that ended early.
type cutError struct{ error }

// download brings a file from a master. A download that was cut off begins again.
func download(ctx context.Context, list *masters.List, token, url, file string) error {
	for {
		err := downloadOnce(ctx, list, token, url, file)
		var cut *cutError
		if !errors.As(err, &cut) || ctx.Err() != nil {
			return err
		}
		if err := sleep.For(ctx, unknownPause); err != nil {
			return err
		}
	}
}

func downloadOnce(ctx context.Context, list *masters.List, token, url, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if req.URL.Host != "" {
		return fmt.Errorf("%q is not a path on the master", url)
	}
	req.Header.Set(masters.TokenHeader, "Bearer "+token)
	resp, err := list.Send(req, nil, masters.Policy{Replay: true, Hold: forever, Patience: logPatience})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // part of an error is better than none
		return masters.RefusalOf(resp.StatusCode, body)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	from := &source{Reader: resp.Body}
	n, err := io.Copy(f, io.LimitReader(from, maxArchive+1))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if from.err != nil {
		return &cutError{from.err}
	}
	if err == nil && n > maxArchive {
		err = fmt.Errorf("it is larger than %d MiB", maxArchive>>20)
	}
	return err
}

// A source remembers that reading failed, as opposed to writing.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// archiveIn finds the archive in what was downloaded: the file itself, or the
// field of the message that Determined's own tasks get. It is nil when there is none.
func archiveIn(f *os.File) (io.Reader, error) {
	var first [1]byte
	if n, _ := f.ReadAt(first[:], 0); n == 0 {
		return nil, nil
	}
	if first[0] != '{' {
		return f, nil
	}
	var message struct {
		B64Tgz string `json:"b64Tgz"`
	}
	if err := json.NewDecoder(f).Decode(&message); err != nil {
		return nil, fmt.Errorf("the master's answer is neither an archive nor JSON: %w", err)
	}
	if message.B64Tgz == "" {
		return nil, nil
	}
	archive, err := base64.StdEncoding.DecodeString(message.B64Tgz)
	if err != nil {
		return nil, fmt.Errorf("the archive in the master's message: %w", err)
	}
	return bytes.NewReader(archive), nil
}
