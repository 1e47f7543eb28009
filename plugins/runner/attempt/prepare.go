//go:build linux

package attempt

import (
	"bytes"
	"cmp"
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
	"github.com/detent-ml/detent/plugins/runner/account"
	"github.com/detent-ml/detent/plugins/runner/masters"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
	"github.com/detent-ml/detent/plugins/runner/unpack"
)

// runDir is the folder in which Determined's harness and programs expect their files.
const runDir = "/run/determined"

// maxArchive is the maximum size of a downloaded archive.
const maxArchive = 2 << 30

// newLayout chooses the paths of the task's folders and creates them. bare means that the node
// does not permit mounts.
//
// Everything is prepared in the physical run directory. If the driver gives tasks their own
// root, that is /run/determined; otherwise it is in the task's folder and is mounted at
// /run/determined, or, if that is impossible, programs receive its real path.
func newLayout(ctx context.Context, p *NomadTask, spec *v1.TaskSpec, self string, a *account.Account, bare bool) (layout, error) {
	l := layout{runDir: runDir, source: p.local("run"), account: a, privateRoot: p.PrivateRoot,
		secrets: p.SecretsDir, reports: p.shared("reports"), self: self, selfSource: self}
	if p.PrivateRoot && writable(runDir) {
		l.source = runDir
	}
	if bare && l.source != runDir {
		l.runDir = l.source
	}
	if l.mountsOnly() {
		l.secrets, l.reports, l.self = l.inRun("secrets"), l.inRun("reports"), l.inRun("det-runner")
	}
	l.workDir = l.inRun("workdir")
	l.codeInTask = l.workDir
	if spec.Home != "" {
		l.workDir, l.keepsWorkDir = spec.Home, spec.WorkDir == ""
	}
	if spec.WorkDir != "" {
		l.workDir = l.relocate(spec.WorkDir)
	}
	for _, dir := range []string{p.local("stage"), p.local("spill"), p.local("files"), p.shared("reports")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return l, fmt.Errorf("cannot create the task's folders: %w", err)
		}
	}
	err := a.Give(p.shared("reports"))
	if err == nil {
		l.opened, l.physical, err = a.Own(l.source, 0o755)
	}
	if err != nil {
		return l, fmt.Errorf("cannot create the task's folders: %w", err)
	}
	if err := l.lookUpAccount(ctx, p); err != nil {
		return l, err
	}
	return l, a.Do(func() error { return l.createFolders(p, spec) })
}

// createFolders creates the folders of the run directory.
func (l *layout) createFolders(p *NomadTask, spec *v1.TaskSpec) error {
	for _, name := range []string{"workdir", "info", "train"} {
		if err := os.MkdirAll(filepath.Join(l.physical, name), 0o755); err != nil {
			return fmt.Errorf("cannot create the task's folders: %w", err)
		}
	}
	if err := l.placeScratch(p.PrivateRoot); err != nil {
		return err
	}
	if err := checkHome(p, spec); err != nil {
		return err
	}
	model, err := l.placeCode(p.PrivateRoot && (spec.Home == "" || spec.WorkDir != ""))
	if err != nil {
		return err
	}
	err = os.Symlink(model, filepath.Join(l.physical, "train", "model"))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot create the task's folders: %w", err)
	}
	return nil
}

// placeScratch creates a folder for temporary files, which is removed with the task. On a node
// without containers all users share /tmp, and files of trials would remain there. A task with its
// own root needs no such folder, and a program that uses the real path of the run directory gets
// none: that path is too long for the sockets that Python creates in its temporary folder.
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

// writable reports whether a folder can be created and written.
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

// relocate converts a path of a spec to one that programs see: relative paths are in the
// working directory, and the run directory may have another path.
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

// onNode is the path at which this process writes a file that programs see in the run
// directory; ok is false for other paths.
func (l layout) onNode(p string) (string, bool) {
	p = l.relocate(p)
	if p != l.runDir && !strings.HasPrefix(p, l.runDir+"/") {
		return "", false
	}
	return l.physical + strings.TrimPrefix(p, l.runDir), true
}

// writeFiles writes the small files of the spec. Files outside of the run directory are written
// elsewhere and mounted, unless the task has its own root.
func writeFiles(p *NomadTask, l layout, files []v1.TaskFile, fill *strings.Replacer) ([]sandbox.Bind, error) {
	var binds []sandbox.Bind
	for i, f := range files {
		mode := os.FileMode(f.Mode).Perm()
		mode = cmp.Or(mode, 0o600)
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
		var err error
		if inRun {
			err = l.account.Do(func() error { return writeFile(where, content, mode) })
		} else if err = writeFile(where, content, mode); err == nil {
			err = l.account.Give(where)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write the task's file %s: %w", f.Path, err)
		}
	}
	return binds, nil
}

// writeDevices writes the file with the ids of the program's GPUs, unless the spec has that file.
func writeDevices(l layout, env map[string]string) error {
	file := filepath.Join(l.physical, "info", "resources.json")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	uuids := []string{}
	_, visible := visibleDevices(env)
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
	return os.Chmod(path, mode) // independent of the umask
}

// pythonShim puts the pool's interpreter first on PATH, as python and python3.
func pythonShim(l *layout, prefer string) error {
	if prefer == "" {
		return nil
	}
	for _, name := range []string{"python3", "python"} {
		script := "#!/bin/sh\nexec " + quote.Shell(prefer) + " \"$@\"\n"
		if err := writeFile(filepath.Join(l.physical, "bin", name), []byte(script), 0o755); err != nil {
			return fmt.Errorf("cannot put the pool's Python on PATH: %w", err)
		}
	}
	l.pythonShim = l.inRun("bin")
	return nil
}

// fetchContext downloads the user's code to the working directory.
func fetchContext(ctx context.Context, p *NomadTask, list *masters.List, token, url string, l layout) error {
	if url == "" {
		return nil
	}
	err := fetch(ctx, list, token, url, p.local("context.tgz"), l.codeDir, l.account)
	if err != nil {
		return fmt.Errorf("cannot fetch the code of this task: %w", err)
	}
	return nil
}

// harnessFile is the archive of the master's Python package.
const harnessFile = "harness.tgz"

// fetchHarness returns the folder of the Python package: a folder of the node, or the package of
// the master, which it downloads for the sandbox to extract (fetched). It returns "" if the user selected another
// package.
func fetchHarness(ctx context.Context, p *NomadTask, list *masters.List, token string, env map[string]string) (dir string, fetched bool, err error) {
	if env["DET_SKIP_HARNESS"] != "" || env["DET_USE_INSTALLED_HARNESS"] == "1" {
		return "", false, nil
	}
	if dir := env["DET_HARNESS"]; dir != "" {
		return dir, false, nil
	}
	if env["DET_HARNESS_URL"] == "" {
		return "", false, nil
	}
	dir = p.local("harness")
	err = download(ctx, list, token, env["DET_HARNESS_URL"], p.local(harnessFile))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", false, fmt.Errorf("cannot fetch the Python package from the master: %w", err)
	}
	return dir, true, nil
}

// fetch downloads an archive from a master and unpacks it into dir, as the account.
func fetch(ctx context.Context, list *masters.List, token, url, file, dir string, a *account.Account) error {
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
	return a.Do(func() error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return unpack.TarGz(content, dir, unpack.Limits{})
	})
}

// A cutError is the error of a download that ended early.
type cutError struct{ error }

// download fetches a file from a master. It repeats a download that was cut off.
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
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // a part of the error is enough
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
		err = fmt.Errorf("the file is larger than %d MiB", maxArchive>>20)
	}
	return err
}

// A source records the error of reading, so that the caller can distinguish it from an error of writing.
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

// archiveIn finds the archive in a download: the file itself, or a field of the message that
// Determined's tasks receive. It is nil if there is none.
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
		return nil, fmt.Errorf("cannot decode the archive in the master's message: %w", err)
	}
	return bytes.NewReader(archive), nil
}
