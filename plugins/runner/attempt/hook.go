//go:build linux

package attempt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// DumpVerb is the argument that makes this executable write its environment and
// directory into a file: how the hook's shell hands over what the hook exported.
const DumpVerb = "dump-env"

const hookName = "startup-hook.sh"

// A dump is an environment that a hook left.
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

// hookCommand runs startup-hook.sh as part of a shell, the way hooks were always
// run: a failing line ends it, and what it exports is for the program. It is nil
// when the working directory has no hook.
func hookCommand(l layout, self, shell string, env map[string]string) *sandbox.Command {
	where, ok := l.onNode(l.workDir)
	if !ok {
		where = l.workDir
	}
	if info, err := os.Stat(filepath.Join(where, hookName)); err != nil || info.IsDir() {
		return nil
	}
	script := fmt.Sprintf("set -e\n. ./%s\nset +e\nexec %s %s %s",
		hookName, shellQuote(self), DumpVerb, shellQuote(l.inRun("hook.json")))
	return &sandbox.Command{Argv: []string{shell, "-c", script}, Env: list(env), Dir: l.workDir}
}

// afterHook is the environment and directory that a hook left. A hook that ended
// the shell with success, and so left nothing, changed nothing.
func afterHook(l layout, env map[string]string) (map[string]string, string, error) {
	file := filepath.Join(l.physical, "hook.json")
	defer os.Remove(file)
	content, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return env, l.workDir, nil
	}
	if err != nil {
		return nil, "", err
	}
	var d dump
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, "", fmt.Errorf("what the hook left: %w", err)
	}
	out := map[string]string{}
	for _, kv := range d.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "_" && k != "SHLVL" && k != "OLDPWD" {
			out[k] = v
		}
	}
	return out, d.Dir, nil
}

// shellOn finds bash, for which hooks are mostly written, or else sh.
func shellOn(path string) string {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, "bash")); err == nil && info.Mode().Perm()&0o111 != 0 {
			return filepath.Join(dir, "bash")
		}
	}
	return "/bin/sh"
}
