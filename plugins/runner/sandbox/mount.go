//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/nomad/servers/mountinfo"
	"github.com/detent-ml/detent/plugins/runner/unpack"
)

// mountAll makes the mounts of a sandbox, and returns the targets that were mounted already.
func mountAll(s Setup, mode Mode) ([]string, *SetupError) {
	skipped, binds, err := needed(s)
	if err != nil {
		return nil, err
	}
	if !mode.Mount {
		if len(binds) > 0 {
			return nil, impossible(binds[0])
		}
		if err := s.Archive.extract(false); err != nil {
			return nil, &SetupError{Message: err.Error(), Archive: true}
		}
		return skipped, nil
	}
	m := &mounter{hide: s.Hide, account: s.Account, ours: map[uint64]bool{}}
	if err := m.begin(s.Stage); err != nil {
		return nil, failed(err, "cannot open the folder for mounts in preparation")
	}
	defer m.end()
	// The sandbox sees later mounts of the node; the node does not see those of the sandbox.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		if errors.Is(err, syscall.EINVAL) { // in a chroot, whose root is no mount point
			return nil, refused(err, "cannot make the mounts of this namespace private")
		}
		return nil, failed(err, "cannot make the mounts of this namespace private")
	}
	if err := s.Archive.extract(true); err != nil {
		return nil, &SetupError{Message: err.Error(), Archive: true}
	}
	if err := m.binds(binds); err != nil {
		return nil, err
	}
	if s.ShmBytes > 0 {
		if err := m.shm(s.ShmBytes); err != nil {
			return nil, err
		}
	}
	if mode.PID {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return nil, refused(err, "cannot mount a /proc for the sandbox's processes")
		}
	}
	if err := m.leaveOldRoot(); err != nil {
		return nil, err
	}
	return skipped, nil
}

// maxInMemory is the size of an archive's content up to which it is kept in memory.
const maxInMemory = 16 << 20

// extract extracts the archive. If mounts are possible, it puts the content into memory, where many small files are
// created several times as fast as on a disk, and end with the sandbox.
func (a *Archive) extract(mounts bool) error {
	if a == nil {
		return nil
	}
	if mounts && unix.Mount("tmpfs", a.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=32m,nr_inodes=16k") == nil {
		if a.into(maxInMemory) == nil {
			return nil
		}
		if err := unix.Unmount(a.Dir, 0); err != nil {
			return err
		}
	}
	return a.into(0)
}

func (a *Archive) into(maxBytes int64) error {
	f, err := os.Open(a.File)
	if err != nil {
		return err
	}
	defer f.Close()
	return unpack.TarGz(f, a.Dir, unpack.Limits{Bytes: maxBytes})
}

// failed returns the error of a mount. If the system does not permit the mount, Open tries
// another mode.
func failed(err error, format string, args ...any) *SetupError {
	return &SetupError{
		Message: fmt.Sprintf(format, args...) + ": " + err.Error(),
		Refused: errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS),
	}
}

func refused(err error, format string, args ...any) *SetupError {
	e := failed(err, format, args...)
	e.Refused = true
	return e
}

func impossible(b Bind) *SetupError {
	return &SetupError{NoMounts: true, Message: fmt.Sprintf("cannot mount %s at %s: the node does not permit a mount namespace for this task. "+
		"Use the same path for host_path and container_path, or a pool whose driver mounts folders (docker), "+
		"or run the Nomad client's raw_exec tasks as root, or permit user namespaces on the node", b.Source, b.Target)}
}

// needed returns the binds to make, and the targets of those that exist already (skipped).
// It creates missing sources if their Bind requests it.
func needed(s Setup) (skipped []string, binds []Bind, err *SetupError) {
	var mounted []string
	if s.PrivateRoot {
		mounted, _ = mountinfo.Points() // after an error, treat no target as mounted
	}
	for _, b := range s.Binds {
		b.Source, b.Target = filepath.Clean(b.Source), filepath.Clean(b.Target)
		if !filepath.IsAbs(b.Source) || !filepath.IsAbs(b.Target) {
			return nil, nil, &SetupError{Message: fmt.Sprintf("the mount of %q at %q: both paths must be absolute", b.Source, b.Target)}
		}
		if slices.Contains(mounted, b.Target) {
			skipped = append(skipped, b.Target)
			continue
		}
		if b.Create {
			if err := s.found(b); err != nil {
				return nil, nil, failed(err, "cannot give the folder %s on this node, for the mount at %s, to the account of the task", b.Source, b.Target)
			}
			if err := s.reach(b, func() error { return os.MkdirAll(b.Source, 0o755) }); err != nil {
				return nil, nil, failed(err, "cannot create the folder %s on this node, for the mount at %s", b.Source, b.Target)
			}
		}
		if err := s.reach(b, func() error { _, err := os.Stat(b.Source); return err }); err != nil {
			return nil, nil, missing(b, s.PrivateRoot, err)
		}
		if b.Source == b.Target && !b.ReadOnly {
			skipped = append(skipped, b.Target)
			continue
		}
		binds = append(binds, b)
	}
	return skipped, binds, nil
}

// found makes a missing folder of operators for the account of the programs.
func (s Setup) found(b Bind) error {
	if s.Account == nil || b.Theirs {
		return nil
	}
	if _, err := os.Lstat(b.Source); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.Source), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(b.Source, 0o700); err != nil {
		return err
	}
	return s.Account.Give(b.Source)
}

// reach calls f, with the rights of the programs' account if the user has chosen the source of the bind.
func (s Setup) reach(b Bind, f func() error) error {
	if b.Theirs {
		return s.Account.Do(f)
	}
	return f()
}

func missing(b Bind, private bool, err error) *SetupError {
	if !errors.Is(err, os.ErrNotExist) {
		return &SetupError{Message: fmt.Sprintf("cannot read %s, for the mount at %s: %v", b.Source, b.Target, err)}
	}
	hint := "create it on every node of the pool, or choose another host path"
	if private {
		hint = "the driver gives tasks a root of their own in which only what it mounts is visible; " +
			"use a pool whose driver mounts host paths (docker), a host volume, or raw_exec"
	}
	return &SetupError{Message: fmt.Sprintf("%s, for the mount at %s, does not exist on this node: %s", b.Source, b.Target, hint)}
}

// binds makes the bind mounts. It opens all sources first, because a mount may cover the
// source of a later one.
func (m *mounter) binds(list []Bind) *SetupError {
	fds := make([]int, len(list))
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd - 1) // 0: not opened
		}
	}()
	open := func(theirs bool) *SetupError {
		for i, b := range list {
			if b.Theirs != theirs {
				continue
			}
			err := Setup{Account: m.account}.reach(b, func() error {
				fd, err := unix.Open(b.Source, unix.O_PATH|unix.O_CLOEXEC, 0)
				fds[i] = fd + 1
				return err
			})
			if err != nil {
				return failed(err, "cannot open %s, for the mount at %s", b.Source, b.Target)
			}
		}
		return nil
	}
	if err := open(false); err != nil {
		return err
	}
	if err := m.cover(); err != nil {
		return failed(err, "cannot hide %s", m.hide)
	}
	if err := open(true); err != nil {
		return err
	}
	for i, b := range list {
		var st unix.Stat_t
		if err := unix.Fstat(fds[i]-1, &st); err != nil {
			return failed(err, "cannot read %s, for the mount at %s", b.Source, b.Target)
		}
		target, err := m.point(b.Target, st.Mode&unix.S_IFMT == unix.S_IFDIR)
		if err != nil {
			return failed(err, "cannot create the mount point %s for %s", b.Target, b.Source)
		}
		if m.account != nil && (target == "/proc" || strings.HasPrefix(target, "/proc/")) {
			return &SetupError{Message: fmt.Sprintf("a mount at %s would hide the processes of the task; choose another path in the task", b.Target)}
		}
		if err := m.bind(fds[i]-1, target); err != nil {
			return failed(err, "cannot mount %s at %s", b.Source, b.Target)
		}
		if err := setOptions(target, b); err != nil {
			return failed(err, "cannot set the options of the mount of %s at %s", b.Source, b.Target)
		}
	}
	return nil
}

// cover makes the hidden folder empty. The stage moves there, because it is in that folder; a mount of the
// user may cover the path later.
func (m *mounter) cover() error {
	if m.hide == "" {
		return nil
	}
	if err := unix.Mount("tmpfs", m.hide, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return err
	}
	above, err := unix.Open(m.hide, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_ = unix.Close(m.stageIn)
	m.stageIn, m.stage = above, ".stage"
	return unix.Mkdirat(m.stageIn, m.stage, 0o700)
}

// bind mounts what a descriptor leads to. A mount of the user may cover /proc.
func (m *mounter) bind(fd int, target string) error {
	if err := unix.Fchdir(m.fds); err != nil {
		return err
	}
	return unix.Mount(strconv.Itoa(fd), target, "", unix.MS_BIND|unix.MS_REC, "")
}

// setOptions sets the propagation of a mount, and makes it read-only if its Bind requests it.
func setOptions(target string, b Bind) error {
	flags, known := map[string]uintptr{
		"": unix.MS_PRIVATE | unix.MS_REC, "rprivate": unix.MS_PRIVATE | unix.MS_REC, "private": unix.MS_PRIVATE,
		"rslave": unix.MS_SLAVE | unix.MS_REC, "slave": unix.MS_SLAVE,
		"rshared": unix.MS_SHARED | unix.MS_REC, "shared": unix.MS_SHARED,
	}[b.Propagation]
	if !known {
		return fmt.Errorf("%q is not a propagation: use rprivate, private, rslave, slave, rshared or shared", b.Propagation)
	}
	if err := unix.Mount("", target, "", flags, ""); err != nil {
		return err
	}
	if !b.ReadOnly {
		return nil
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	err := unix.MountSetattr(-1, target, unix.AT_RECURSIVE, attr)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	// Before Linux 5.12: mounts below this one stay writable, and the call must repeat the
	// mount's other flags.
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return err
	}
	kept := uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME)
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|kept, "")
}

// shm mounts a /dev/shm of this size.
func (m *mounter) shm(size int64) *SetupError {
	target, err := m.point("/dev/shm", true)
	if err == nil {
		err = unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size="+strconv.FormatInt(size, 10))
	}
	if err != nil {
		return failed(err, "cannot mount a /dev/shm of %d bytes", size)
	}
	return nil
}
