//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/master/mountinfo"
)

// mountAll makes a sandbox's file system, and lists the targets that were there
// already.
func mountAll(s Setup, mode Mode) ([]string, *SetupError) {
	skipped, binds, err := needed(s)
	if err != nil {
		return nil, err
	}
	if !mode.Mount {
		if len(binds) > 0 {
			return nil, impossible(binds[0])
		}
		return skipped, nil
	}
	m := &mounter{stage: s.Stage, ours: map[uint64]bool{}}
	// Mounts that the host makes later are seen here, ours are not seen there.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return nil, failed(err, "cannot make the mounts of this namespace private")
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

// failed words an error of a mount. What the system does not permit may be
// permitted in another mode.
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
	return &SetupError{NoMounts: true, Message: fmt.Sprintf("%s cannot be mounted at %s: this task has no mount namespace of its own. "+
		"Use the same path on both sides, or let the pool's driver mount it (docker does), "+
		"or let the Nomad client run raw_exec tasks as root, or permit user namespaces on the node", b.Source, b.Target)}
}

// needed tells the binds to make from those that are there already, and makes
// the sources that may be made.
func needed(s Setup) (skipped []string, binds []Bind, err *SetupError) {
	var mounted []string
	if s.PrivateRoot {
		mounted, _ = mountinfo.Points() // where that cannot be read, nothing is known to be mounted
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
			if err := os.MkdirAll(b.Source, 0o755); err != nil {
				return nil, nil, failed(err, "the folder %s, to be mounted at %s, cannot be made on this node", b.Source, b.Target)
			}
		}
		if _, err := os.Stat(b.Source); err != nil {
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

func missing(b Bind, private bool, err error) *SetupError {
	if !errors.Is(err, os.ErrNotExist) {
		return &SetupError{Message: fmt.Sprintf("%s, to be mounted at %s, cannot be used: %v", b.Source, b.Target, err)}
	}
	hint := "make it on every node of the pool, or choose another host path"
	if private {
		hint = "the driver gives tasks a root of their own in which only what it mounts is visible; " +
			"use a pool whose driver mounts host paths (docker), a host volume, or raw_exec"
	}
	return &SetupError{Message: fmt.Sprintf("%s, to be mounted at %s, does not exist on this node: %s", b.Source, b.Target, hint)}
}

// binds makes the bind mounts. All sources are opened first, because a mount may
// cover the source of a later one.
func (m *mounter) binds(list []Bind) *SetupError {
	fds := make([]int, 0, len(list))
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for _, b := range list {
		fd, err := unix.Open(b.Source, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return failed(err, "%s, to be mounted at %s, cannot be opened", b.Source, b.Target)
		}
		fds = append(fds, fd)
	}
	for i, b := range list {
		var st unix.Stat_t
		if err := unix.Fstat(fds[i], &st); err != nil {
			return failed(err, "%s, to be mounted at %s", b.Source, b.Target)
		}
		target, err := m.point(b.Target, st.Mode&unix.S_IFMT == unix.S_IFDIR)
		if err != nil {
			return failed(err, "cannot make the mount point %s for %s", b.Target, b.Source)
		}
		if err := bindFD(fds[i], target); err != nil {
			return failed(err, "cannot mount %s at %s", b.Source, b.Target)
		}
		if err := shape(target, b); err != nil {
			return failed(err, "cannot set the options of the mount of %s at %s", b.Source, b.Target)
		}
	}
	return nil
}

func bindFD(fd int, target string) error {
	return unix.Mount("/proc/self/fd/"+strconv.Itoa(fd), target, "", unix.MS_BIND|unix.MS_REC, "")
}

// shape sets propagation and protection of a mount.
func shape(target string, b Bind) error {
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
	// Before Linux 5.12: what is mounted below stays as it is, and the flags that
	// the mount has must be said again.
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return err
	}
	kept := uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME)
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|kept, "")
}

// shm gives the sandbox a /dev/shm of its own size.
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
