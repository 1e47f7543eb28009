//go:build linux

package attempt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	v1 "github.com/detent-ml/detent/master/v1"
)

// What a task needs in a container. The driver has made the mounts; the image may not know the
// account of the program.

// link creates symbolic links in the working directory to folders that the driver has mounted
// elsewhere: the working directory is created here, after the driver's mounts.
func link(l layout, mounts []v1.BindMount) error {
	for _, m := range mounts {
		if !m.Link {
			continue
		}
		where, ok := l.onNode(m.ContainerPath)
		if !ok {
			where = m.ContainerPath
		}
		if err := os.MkdirAll(filepath.Dir(where), 0o755); err != nil {
			return fmt.Errorf("cannot link %s to its mount: %w", m.ContainerPath, err)
		}
		if err := os.Remove(where); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s blocks a mount, because it came with the task's code: %w", m.ContainerPath, err)
		}
		if err := os.Symlink(m.HostPath, where); err != nil {
			return fmt.Errorf("cannot link %s to its mount: %w", m.ContainerPath, err)
		}
	}
	return nil
}

// placeCode chooses the folder of the user's code: in an image the program's working directory,
// on a node without containers a folder of the task. It returns the target of train/model.
func (l *layout) placeCode(privateRoot bool) (model string, err error) {
	l.codeDir = filepath.Join(l.physical, "workdir")
	if !privateRoot || l.workDir == l.inRun("workdir") {
		return "../workdir", nil
	}
	if err := os.MkdirAll(l.workDir, 0o755); err != nil {
		return "", fmt.Errorf("cannot create the working directory %s in the task's image: %w", l.workDir, err)
	}
	l.codeDir, l.codeInTask = l.workDir, l.workDir
	return l.workDir, nil
}

// checkHome returns an error if a container cannot write to the folder of its owner, which the driver or
// an administrator has created.
func checkHome(p *NomadTask, spec *v1.TaskSpec) error {
	if spec.Home == "" || !p.PrivateRoot || writable(spec.Home) {
		return nil
	}
	return fmt.Errorf("the folder that stays for your files, %s in the task, cannot be written by the account %d:%d, as which the task runs: "+
		"an administrator gives it to that account (chown, on a node, in homes of the resource pool)", spec.Home, os.Getuid(), os.Getgid())
}

// setHomeAndUser sets HOME and USER of a program if the image has none for its account. Python needs
// both. Podman adds a missing account to the list of accounts, with its number as the name and
// the task's folder as its home.
func setHomeAndUser(p *NomadTask, spec *v1.TaskSpec, env map[string]string, l layout) {
	if _, own := spec.Env["HOME"]; !own && (env["HOME"] == p.TaskDir || !usableHome(env["HOME"])) {
		env["HOME"] = l.workDir
	}
	uid := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(uid); err == nil && u.Username != uid {
		return
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if env[name] == "" {
			env[name] = cmp.Or(spec.Env["DET_USER"], "det")
		}
	}
}

// usableHome reports whether a folder exists and is writable.
func usableHome(dir string) bool {
	info, err := os.Stat(dir)
	return dir != "" && dir != "/" && err == nil && info.IsDir() && writable(dir)
}
