//go:build linux

package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/detent-ml/detent/master/quote"
	"github.com/detent-ml/detent/plugins/runner/regular"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// DumpVerb is the argument with which this executable writes its environment and directory to a
// file: so the hook's shell passes exported variables to the program.
const DumpVerb = "dump-env"

// The hooks: first the operators' (task_container_defaults.startup_hook), which the master
// sends as a file, then the user's, which is part of the code.
const (
	clusterHook = runDir + "/dynamic-tcd-startup-hook.sh"
	hookName    = "startup-hook.sh"
)

// A dump is an environment after a hook.
type dump struct {
	Env []string `json:"env"`
	Dir string   `json:"dir"`
}

// Dump writes this process's environment to a file.
func Dump(file string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	content, err := json.Marshal(dump{Env: os.Environ(), Dir: dir})
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

// hookDir is the folder of the task's own hook, as programs see it: the folder with the submitted code,
// which is not in the owner's home.
func (l layout) hookDir() string {
	if l.keepsWorkDir {
		return l.codeInTask
	}
	return l.workDir
}

// hookCommand runs the hooks in one shell, as in Determined: a failing line ends the shell, and
// exported variables are passed to the program. It is nil if there is no hook; names describes
// the hooks.
func hookCommand(l layout, shell string, env map[string]string) (c *sandbox.Command, names string) {
	script := "set -e\n"
	var found []string
	for _, hook := range []struct{ path, name string }{
		{l.relocate(clusterHook), "the cluster's startup hook"}, {filepath.Join(l.hookDir(), hookName), hookName},
	} {
		where, ok := l.onNode(hook.path)
		if !ok {
			where = hook.path
		}
		if info, err := os.Stat(where); err != nil || info.IsDir() {
			continue
		}
		script += ". " + quote.Shell(hook.path) + "\n"
		found = append(found, hook.name)
	}
	if found == nil {
		return nil, ""
	}
	script += fmt.Sprintf("set +e\nexec %s %s %s", quote.Shell(l.self), DumpVerb, quote.Shell(l.inRun("hook.json")))
	return &sandbox.Command{Argv: []string{shell, "-c", script}, Env: list(env), Dir: l.workDir}, strings.Join(found, ", then ")
}

// afterHook is the environment and directory after a hook. A hook that ended the shell with
// success wrote no dump, and changes nothing.
func afterHook(l layout, env map[string]string) (map[string]string, string, error) {
	file := filepath.Join(l.physical, "hook.json")
	defer os.Remove(file)
	content, err := regular.Read(file)
	if errors.Is(err, os.ErrNotExist) {
		return env, l.workDir, nil
	}
	if err != nil {
		return nil, "", err
	}
	var d dump
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, "", fmt.Errorf("cannot read the environment after the hook: %w", err)
	}
	out := map[string]string{}
	for _, kv := range d.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "_" && k != "SHLVL" && k != "OLDPWD" {
			out[k] = v
		}
	}
	return out, d.Dir, nil
}

// shellOn finds bash, which most hooks need, or else sh.
func shellOn(path string) string {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, "bash")); err == nil && info.Mode().Perm()&0o111 != 0 {
			return filepath.Join(dir, "bash")
		}
	}
	return "/bin/sh"
}
