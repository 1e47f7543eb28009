//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/plugins/runner/account"
)

// maxEntries is the maximum number of entries of a folder that skeleton covers.
const maxEntries = 4096

// oldRoot is the folder of the previous root until all mounts are made.
const oldRoot = ".det-old-root"

// A mounter makes mounts, and creates missing mount points.
//
// The user chooses the paths of mounts, and programs of the user that run on the node may change folders
// and links of these paths meanwhile. So paths are opened with the rights of the programs' account, and
// what this process creates, it creates below folders that it has opened.
type mounter struct {
	stage   string           // name of the folder for mounts in preparation
	stageIn int              // the folder that contains it
	fds     int              // /proc/self/fd
	hide    string           // folder to hide; "": none
	account *account.Account // of the programs
	ours    map[uint64]bool  // device numbers of the skeletons
	pivoted bool             // a skeleton has replaced /
}

// begin opens what the mounter needs of the node before mounts of the user cover it.
func (m *mounter) begin(stage string) (err error) {
	if m.fds, err = openPath(unix.AT_FDCWD, "/proc/self/fd", unix.O_DIRECTORY); err != nil {
		return err
	}
	m.stage = filepath.Base(stage)
	if m.stageIn, err = openPath(unix.AT_FDCWD, filepath.Dir(stage), unix.O_DIRECTORY); err != nil {
		_ = unix.Close(m.fds)
	}
	return err
}

// end closes what begin has opened, and leaves the folders in which the mounter worked.
func (m *mounter) end() {
	_ = os.Chdir("/")
	_, _ = unix.Close(m.fds), unix.Close(m.stageIn)
}

// atStage calls f in the folder that contains the stage, whatever covers its path.
func (m *mounter) atStage(f func() error) error {
	if err := unix.Fchdir(m.stageIn); err != nil {
		return err
	}
	return f()
}

// openPath opens a path below a folder, and follows no link at its end.
func openPath(at int, path string, flags int) (int, error) {
	return unix.Openat(at, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
}

// covered are the folders of the node in which the sandbox never creates mount points.
var covered = []string{"/", "/run", "/etc"}

// point creates a mount point if it is missing, and returns its path without symbolic links.
func (m *mounter) point(target string, dir bool) (string, error) {
	above, rest, err := deepest(target)
	if err != nil {
		return "", err
	}
	full := filepath.Join(above, rest)
	if rest == "" {
		info, err := os.Stat(full)
		if err == nil && info.IsDir() != dir {
			err = fmt.Errorf("source and target of a mount must both be folders, or both files")
		}
		return full, err
	}
	switch {
	case m.isOurs(above):
	case slices.Contains(covered, above):
		if m.skeleton(above) != nil {
			return full, place(full, dir) // an empty folder on the node, so that the task can run
		}
	default:
		err := m.account.Do(func() error { return place(full, dir) })
		if err == nil || !unwritable(err) {
			return full, err
		}
		if coverErr := m.skeleton(above); coverErr != nil {
			return "", errors.Join(err, coverErr)
		}
	}
	return full, m.placeOurs(above, rest, dir)
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)
}

// deepest splits a path into the part that exists, without symbolic links, and the rest.
func deepest(path string) (above, rest string, err error) {
	above = path
	for {
		real, err := filepath.EvalSymlinks(above)
		if err == nil {
			if info, err := os.Stat(real); rest != "" && err == nil && !info.IsDir() {
				return "", "", fmt.Errorf("%s is not a folder", real)
			}
			return real, rest, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", "", err
		}
		if info, lerr := os.Lstat(above); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", "", fmt.Errorf("%s is a symbolic link to a path that does not exist", above)
		}
		rest = filepath.Join(filepath.Base(above), rest)
		above = filepath.Dir(above)
	}
}

// place creates an empty folder or file.
func place(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// placeOurs creates an empty folder or file below a folder of a skeleton.
func (m *mounter) placeOurs(above, rest string, dir bool) error {
	at, err := openPath(unix.AT_FDCWD, above, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	if !m.ours[st.Dev] {
		return fmt.Errorf("%s was replaced while the task was prepared", above)
	}
	names := strings.Split(rest, "/")
	for i, name := range names {
		last := i == len(names)-1
		if err := placeAt(at, name, dir || !last); err != nil || last {
			return err
		}
		below, err := openPath(at, name, unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		_ = unix.Close(at)
		at = below
	}
	return nil
}

// placeAt creates an empty folder or file in a folder, unless it is there.
func placeAt(at int, name string, dir bool) error {
	if dir {
		if err := unix.Mkdirat(at, name, 0o755); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func (m *mounter) isOurs(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && m.ours[st.Dev]
}

// skeleton covers a folder with a tmpfs that has a bind mount of each of its entries. The
// program sees the same entries; new entries exist in the sandbox only.
func (m *mounter) skeleton(dir string) error {
	var from int
	err := m.account.Do(func() (err error) { from, err = openPath(unix.AT_FDCWD, dir, unix.O_DIRECTORY); return err })
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(from) }()
	names, err := namesIn(from, dir)
	if err != nil {
		return err
	}
	if len(names) > maxEntries {
		return fmt.Errorf("%s has more than %d entries", dir, maxEntries)
	}
	var was, st unix.Stat_t
	if err := unix.Fstat(from, &was); err != nil {
		return err
	}
	options := fmt.Sprintf("mode=%o,size=16m", was.Mode&0o777)
	err = m.atStage(func() error {
		return unix.Mount("tmpfs", m.stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	})
	if err != nil {
		return fmt.Errorf("mounting a tmpfs: %w", err)
	}
	stage, err := openPath(m.stageIn, m.stage, unix.O_DIRECTORY)
	if err == nil {
		defer func() { _ = unix.Close(stage) }()
		err = unix.Fstat(stage, &st)
	}
	if err == nil {
		err = m.fill(from, names, stage)
	}
	if err == nil {
		err = m.replace(dir, stage)
	}
	if err != nil {
		_ = m.atStage(func() error { return unix.Unmount(m.stage, unix.MNT_DETACH) })
		return err
	}
	m.ours[st.Dev] = true
	return nil
}

// namesIn lists a folder that was opened as a path, up to one name more than a skeleton may have.
func namesIn(dir int, path string) ([]string, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return names, err
}

// atOnce is how many entries of a folder are open at the same time.
const atOnce = 128

// fill binds the entries of a folder into the stage. The stage is unbindable meanwhile: if the folder
// contained the stage, each bind mount would contain all those before it.
func (m *mounter) fill(from int, names []string, stage int) error {
	setStage := func(flag uintptr) error {
		return m.atStage(func() error { return unix.Mount("", m.stage, "", flag, "") })
	}
	if err := setStage(unix.MS_UNBINDABLE); err != nil {
		return err
	}
	for some := range slices.Chunk(names, atOnce) {
		if err := m.copyEntries(from, some, stage); err != nil {
			return err
		}
	}
	return setStage(unix.MS_PRIVATE)
}

// copyEntries makes entries of a folder visible in the stage: those that the programs' account may reach.
func (m *mounter) copyEntries(from int, names []string, stage int) error {
	fds := make([]int, 0, len(names))
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	opened := make([]string, 0, len(names))
	err := m.account.Do(func() error {
		for _, name := range names {
			fd, err := openPath(from, name, unix.O_DIRECTORY) // mounts it, if it is mounted on demand
			if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
				fd, err = openPath(from, name, 0)
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue // the entry was removed, or the program could not have used it
			}
			if err != nil {
				return fmt.Errorf("open %s: %w", name, err)
			}
			fds, opened = append(fds, fd), append(opened, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, name := range opened {
		if err := m.copyEntry(fds[i], name, stage); err != nil {
			return fmt.Errorf("bind %s: %w", name, err)
		}
	}
	return nil
}

func (m *mounter) copyEntry(fd int, name string, stage int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		link := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", link)
		if err != nil {
			return err
		}
		return unix.Symlinkat(string(link[:n]), stage, name)
	}
	if err := placeAt(stage, name, st.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
		return err
	}
	target, err := openPath(stage, name, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(target) }()
	err = m.bind(fd, strconv.Itoa(target)) // both in /proc/self/fd
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // as in copyEntries
	}
	return err
}

// replace replaces dir by the stage.
func (m *mounter) replace(dir string, stage int) error {
	if dir != "/" {
		return m.atStage(func() error { return unix.Mount(m.stage, dir, "", unix.MS_MOVE, "") })
	}
	if err := unix.Mkdirat(stage, oldRoot, 0o700); err != nil {
		return err
	}
	err := m.atStage(func() error { return unix.PivotRoot(m.stage, filepath.Join(m.stage, oldRoot)) })
	if err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	m.pivoted = true
	return os.Chdir("/")
}

// leaveOldRoot unmounts the previous root. The sources of mounts were opened there, so this
// happens after the last mount.
func (m *mounter) leaveOldRoot() *SetupError {
	if !m.pivoted {
		return nil
	}
	old := "/" + oldRoot
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return refused(err, "cannot unmount the previous root")
	}
	if err := os.Remove(old); err != nil && !strings.Contains(err.Error(), "busy") {
		return failed(err, "cannot remove the folder of the previous root")
	}
	return nil
}
