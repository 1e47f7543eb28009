//go:build linux

// Package account is the account of a node as which the program of a task runs, if the owner of the task is linked to
// one.
//
// The runner keeps its own account: it holds the token of the attempt, sends the log and reports the end. Only what
// the sandbox starts runs as the linked account. Do reads and writes files in folders that the program may change. It
// has no more rights than the program, so that a link in such a folder cannot lead the runner to other files.
package account

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	v1 "github.com/detent-ml/detent/master/v1"
)

// An Account is an account of a node. It has no groups besides its own. A nil Account is that
// of this process.
type Account struct {
	UID   int    `json:"uid"`
	GID   int    `json:"gid"`
	User  string `json:"user"`  // "": unknown
	Group string `json:"group"` // "": unknown
}

// maxID is the largest id of an account: the number above it means "no account".
const maxID = 1<<32 - 2

// needed are the capabilities of a process that starts programs as another account, gives files
// to it and ends its programs.
var needed = []struct {
	name string
	bit  int
}{
	{"CAP_CHOWN", unix.CAP_CHOWN}, {"CAP_KILL", unix.CAP_KILL}, {"CAP_SETGID", unix.CAP_SETGID}, {"CAP_SETUID", unix.CAP_SETUID},
}

// Of returns the account as which this process starts the program of a task: nil if that is its
// own. It fails if this process cannot take the account.
func Of(linked *v1.TaskAccount) (*Account, error) {
	if linked == nil {
		return nil, nil
	}
	a := &Account{UID: linked.UID, GID: linked.GID, User: linked.User, Group: linked.Group}
	own, ownGroup := os.Geteuid(), os.Getegid()
	if a.UID < 0 || a.UID > maxID || a.GID < 0 || a.GID > maxID {
		return nil, fmt.Errorf("the owner of this task is linked to the account %s, but ids of users and groups in Linux are numbers from 0 to %d", a, maxID)
	}
	if a.UID == own && a.GID == ownGroup {
		return nil, nil
	}
	if a.UID == 0 && own != 0 {
		return nil, fmt.Errorf("the owner of this task is linked to the account %s, and det-runner runs as %d:%d on this node, which does not start programs as root: "+
			"link another account, or name root as the user in the job of the pool", a, own, ownGroup)
	}
	var missing []string
	for _, c := range needed {
		if !Has(c.bit) {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the owner of this task is linked to the account %s, and det-runner runs as %d:%d on this node, which may not start programs as another account (it lacks %s): "+
			"run the Nomad client as root, allow the capabilities in its configuration and in the job of the pool, or remove the link (det user link-with-agent-user)",
			a, own, ownGroup, strings.Join(missing, ", "))
	}
	return a, nil
}

// String is "alice (1234:100)", or the numbers alone.
func (a *Account) String() string {
	numbers := fmt.Sprintf("%d:%d", a.UID, a.GID)
	if a.User == "" {
		return numbers
	}
	return a.User + " (" + numbers + ")"
}

// Has reports whether the calling thread has a capability.
func Has(bit int) bool {
	_, data, err := capabilities()
	return err == nil && data[bit/32].Effective&(1<<(bit%32)) != 0
}

func capabilities() (unix.CapUserHeader, [2]unix.CapUserData, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return header, data, err
}

// Do calls f with the rights of the account on files and on sockets of the file system. The other
// threads of this process keep their rights; f starts no program.
//
// The account cannot signal this process meanwhile, because only the ids for file systems
// change.
func (a *Account) Do(f func() error) error {
	if a == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		// Without an unlock, the thread ends with this goroutine, so that nothing else runs on it.
		runtime.LockOSThread()
		if err := a.enter(); err != nil {
			done <- fmt.Errorf("cannot act as the account %s: %w", a, err)
			return
		}
		done <- f()
	}()
	return <-done
}

// enter changes the calling thread.
func (a *Account) enter() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return errno
	}
	if err := setID(unix.SetfsgidRetGid, a.GID); err != nil {
		return err
	}
	if err := setID(unix.SetfsuidRetUid, a.UID); err != nil {
		return err
	}
	if a.UID == 0 {
		return nil
	}
	header, data, err := capabilities()
	if err != nil {
		return err
	}
	data[0].Effective, data[1].Effective = 0, 0
	return unix.Capset(&header, &data[0])
}

// setID sets an id for file systems. These calls return the former id, also when they fail.
func setID(set func(int) (int, error), id int) error {
	if _, err := set(id); err != nil {
		return err
	}
	if now, err := set(-1); err != nil || now != id {
		return unix.EPERM
	}
	return nil
}

// Forgo makes the programs that the calling thread starts from now on unable to get rights: they
// have no capabilities, and programs with the bits for another user or group give none. The
// thread itself keeps its own. An account that is root keeps root's rights.
func (a *Account) Forgo() error {
	if a.UID == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot forbid new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot drop the ambient capabilities: %w", err)
	}
	for bit := range unix.CAP_LAST_CAP + 1 {
		if unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(bit), 0, 0, 0) != nil {
			break // without CAP_SETPCAP the bounding set stays, and the calls above suffice
		}
	}
	header, data, err := capabilities()
	if err != nil {
		return err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	return unix.Capset(&header, &data[0])
}

// Give makes the account the owner of a file or folder, which is in a folder that only this process
// may change.
func (a *Account) Give(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, a.UID, a.GID)
}

// Own opens a folder of the account, and creates it if necessary. The returned path is that of the open file: it
// works while the folder is open, even if the account may not enter the folders above it.
func (a *Account) Own(dir string, mode os.FileMode) (*os.File, string, error) {
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, "", err
	}
	if a == nil {
		return nil, dir, nil
	}
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, "", err
	}
	if err := f.Chown(a.UID, a.GID); err != nil {
		_ = f.Close()
		return nil, "", err
	}
	return f, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), nil
}

// Names returns the lines for /etc/passwd and /etc/group with which the names that the owner is linked
// to are those of the ids; "" if the files have them already, or if a name does not fit into a line.
func (a *Account) Names(passwd, group, home, shell string) (user, its string) {
	if inLine(a.User) && nameOf(passwd, a.UID) != a.User {
		user = fmt.Sprintf("%s:x:%d:%d::%s:%s\n", a.User, a.UID, a.GID, home, shell)
	}
	if inLine(a.Group) && nameOf(group, a.GID) != a.Group {
		its = fmt.Sprintf("%s:x:%d:\n", a.Group, a.GID)
	}
	return user, its
}

// maxName is the maximum length of a name in these files.
const maxName = 256

func inLine(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool { return r == ':' || r == '/' || r <= ' ' || r == 0x7f })
}

// nameOf returns the first name of an id in /etc/passwd or /etc/group.
func nameOf(database string, id int) string {
	if e := Entry(database, id); e != nil {
		return e[0]
	}
	return ""
}

// Entry returns the fields of the first line of an id in /etc/passwd or /etc/group.
func Entry(database string, id int) []string {
	for line := range strings.Lines(database) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) > 2 && fields[2] == fmt.Sprint(id) {
			return slices.Clone(fields)
		}
	}
	return nil
}
