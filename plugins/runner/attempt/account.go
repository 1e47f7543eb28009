//go:build linux

package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/account"
	"github.com/detent-ml/detent/plugins/runner/gateway"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// A program that runs as another account than its runner may change neither the folders of the
// allocation nor what the runner keeps there. On a node without containers it sees none of these
// folders, those of other tasks included: what it needs is mounted in its run directory. Where the driver
// gives the task its own root, the folders only stop being writable for everybody.

// mountsOnly reports whether the program sees the folders of its allocation only through mounts.
func (l layout) mountsOnly() bool { return l.account != nil && !l.privateRoot }

// secure keeps other accounts out of the folders of this allocation.
func secure(p *NomadTask) error {
	dirs, mode := []string{p.AllocDir, filepath.Dir(p.TaskDir)}, os.FileMode(0o700)
	if p.PrivateRoot {
		dirs, mode = []string{p.AllocDir, p.TaskDir, p.shared(), filepath.Dir(p.TaskDir)}, 0o755 // the last is the root
	}
	for _, dir := range dirs {
		if err := makePrivate(dir, mode); err != nil {
			return err
		}
	}
	return makePrivate(p.SecretsDir, 0o755) // its files belong to the task; on a bare node, the folder above is closed
}

// makePrivate makes this process the owner of a folder that everybody may write to.
func makePrivate(dir string, mode os.FileMode) error {
	err := os.Chown(dir, os.Geteuid(), os.Getegid())
	if err == nil {
		err = os.Chmod(dir, mode)
	}
	if err != nil {
		return fmt.Errorf("cannot close %s to other accounts of the node: %w", dir, err)
	}
	return nil
}

// ownMounts are the mounts of what a program needs of the folders that it does not see.
func (l layout) ownMounts(p *NomadTask, spec *v1.TaskSpec) []sandbox.Bind {
	if !l.mountsOnly() {
		return nil
	}
	list := []sandbox.Bind{
		{Source: p.SecretsDir, Target: l.secrets, ReadOnly: true},
		{Source: p.shared("reports"), Target: l.reports},
		{Source: l.selfSource, Target: l.self, ReadOnly: true},
	}
	if l.fetched {
		list = append(list, sandbox.Bind{Source: p.local("harness"), Target: l.harness, ReadOnly: true})
	}
	if spec.Collect != nil {
		list = append(list, sandbox.Bind{Source: p.local(removerFile), Target: l.inRun(removerFile), ReadOnly: true})
	}
	return append(list, l.names...)
}

// setAccountEnv sets the variables that describe the account of the program: the variables of this process describe the
// account of the runner.
func (l layout) setAccountEnv(spec *v1.TaskSpec, env map[string]string) {
	if l.account == nil {
		return
	}
	if _, own := spec.Env["HOME"]; !own {
		env["HOME"] = cmp.Or(l.home, l.workDir)
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if _, own := spec.Env[name]; !own {
			env[name] = cmp.Or(l.account.User, l.user, spec.Env["DET_USER"], "det")
		}
	}
	if l.mountsOnly() {
		delete(env, "NOMAD_ALLOC_DIR")
		delete(env, "NOMAD_TASK_DIR")
		env["NOMAD_SECRETS_DIR"] = l.secrets
	}
}

// askNames limits a request to the node's database of accounts.
const askNames = 5 * time.Second

// lookUpAccount reads the name, home and shell of the program's account on this node. On a node without containers it
// also writes copies of /etc/passwd and /etc/group that contain the account, which are mounted for the program.
func (l *layout) lookUpAccount(ctx context.Context, p *NomadTask) error {
	a := l.account
	if a == nil {
		return nil
	}
	passwd, _ := os.ReadFile("/etc/passwd") // a small root has none
	group, _ := os.ReadFile("/etc/group")
	entry := account.Entry(string(passwd), a.UID)
	if entry == nil {
		line := asked(ctx, "passwd", a.UID)
		entry, passwd = account.Entry(line, a.UID), append(passwd, []byte(line)...)
	}
	shell := "/bin/sh"
	if len(entry) == 7 {
		l.user, shell = entry[0], cmp.Or(entry[6], shell)
		if a.Do(func() error { return usable(entry[5]) }) == nil {
			l.home = entry[5]
		}
	} else if info, err := os.Stat("/bin/bash"); err == nil && info.Mode().IsRegular() {
		shell = "/bin/bash"
	}
	if !l.mountsOnly() {
		return nil
	}
	if account.Entry(string(group), a.GID) == nil {
		group = append(group, []byte(asked(ctx, "group", a.GID))...)
	}
	user, its := a.Names(string(passwd), string(group), cmp.Or(l.home, l.workDir), shell)
	for path, lines := range map[string][2]string{"/etc/passwd": {user, string(passwd)}, "/etc/group": {its, string(group)}} {
		if lines[0] == "" {
			continue
		}
		file := p.local("files", filepath.Base(path))
		if err := writeFile(file, []byte(lines[0]+lines[1]), 0o644); err != nil {
			return fmt.Errorf("cannot write the names of the account: %w", err)
		}
		l.names = append(l.names, sandbox.Bind{Source: file, Target: path, ReadOnly: true})
	}
	return nil
}

// asked returns the line of an id in the node's database of accounts, which may be on another machine;
// "" if it has none.
func asked(ctx context.Context, database string, id int) string {
	ctx, cancel := context.WithTimeout(ctx, askNames)
	defer cancel()
	for _, program := range []string{"/usr/bin/getent", "/bin/getent"} {
		cmd := exec.CommandContext(ctx, program, database, strconv.Itoa(id))
		cmd.WaitDelay = time.Second
		if out, err := cmd.Output(); err == nil {
			return string(out)
		}
	}
	return ""
}

// usable returns an error if the calling thread may not write to a folder.
func usable(dir string) error {
	if info, err := os.Stat(dir); dir == "/" || err != nil || !info.IsDir() || !writable(dir) {
		return errors.New("not a folder that the account may write")
	}
	return nil
}

// dialer connects to the program's socket with the rights of its account: the program may put a
// link to another socket in its place.
func (t *task) dialer() gateway.Dialer {
	return func(ctx context.Context) (conn net.Conn, err error) {
		err = t.layout.account.Do(func() (err error) { conn, err = t.socket.Dial(ctx); return err })
		return conn, err
	}
}
