//go:build linux

package shell

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
)

// An account is the account of sessions, which is that of the server.
type account struct {
	name, home, shell string
}

// ownAccount reads the account from the account database, which a small image may lack.
func ownAccount(environ []string) account {
	a := account{name: "user", home: "/", shell: ""}
	uid := strconv.Itoa(os.Getuid())
	if uid == "0" {
		a.name, a.home = "root", "/root"
	}
	if u, err := user.LookupId(uid); err == nil {
		a.name, a.home = u.Username, u.HomeDir
	}
	a.shell = loginShell(uid)
	for _, kv := range environ {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && home != "" {
			a.home = home
		}
	}
	if info, err := os.Stat(a.home); err != nil || !info.IsDir() {
		a.home = "/"
	}
	return a
}

// loginShell is the shell of the account, if it exists and permits logins; else bash, else sh.
func loginShell(uid string) string {
	passwd, err := os.ReadFile("/etc/passwd")
	if err == nil {
		for line := range strings.Lines(string(passwd)) {
			fields := strings.Split(strings.TrimSpace(line), ":")
			if len(fields) == 7 && fields[2] == uid && usable(fields[6]) {
				return fields[6]
			}
		}
	}
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "/bin/sh"
}

func usable(shell string) bool {
	if strings.HasSuffix(shell, "/nologin") || strings.HasSuffix(shell, "/false") {
		return false
	}
	info, err := os.Stat(shell)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
