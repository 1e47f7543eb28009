package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/quote"
	v1 "github.com/detent-ml/detent/master/v1"
)

// keys are the files with a shell's keys on this machine.
type keys struct{ identity, known string }

// plainName is a name that is neither a path nor an option, and means nothing to a shell.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// check refuses what a master that is not what it seems could answer: the id names files, and is an argument of ssh and of its
// ProxyCommand, as the account is.
func check(s v1.Shell) error {
	switch {
	case !plainName.MatchString(s.ID):
		return fault.New(fault.Invalid, "the master's answer has the id %q, which is none of a shell", fault.Clip(s.ID))
	case !plainName.MatchString(login(s)):
		return fault.New(fault.Invalid, "the master's answer has the account %q, which is none of a node", fault.Clip(login(s)))
	case strings.ContainsAny(s.HostKey, "\r\n"):
		return fault.New(fault.Invalid, "the master's answer has a host key with several lines")
	}
	return nil
}

// writeKeys writes the keys of a shell to files in a folder that only its user can read.
func writeKeys(dir string, s v1.Shell) (keys, error) {
	if err := check(s); err != nil {
		return keys{}, err
	}
	if s.PrivateKey == "" {
		return keys{}, fault.New(fault.Forbidden, "shell %s belongs to %s: only its owner and admins may read its key", s.ID, s.Username)
	}
	k := keys{identity: filepath.Join(dir, s.ID+".pem"), known: filepath.Join(dir, s.ID+".known_hosts")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return k, err
	}
	if err := os.WriteFile(k.identity, []byte(s.PrivateKey), 0o600); err != nil {
		return k, err
	}
	if err := os.Chmod(k.identity, 0o600); err != nil { // ssh rejects a key that others can read
		return k, err
	}
	if s.HostKey == "" {
		k.known = ""
		return k, nil
	}
	return k, os.WriteFile(k.known, []byte(s.ID+" "+s.HostKey+"\n"), 0o600)
}

// command is the ssh command that logs in to a shell. A master of Determined sends no host key;
// then, as in its own client, any host key is accepted.
func command(a *app.App, self string, s v1.Shell, k keys, options []string) ([]string, error) {
	master, err := a.Address()
	if err != nil {
		return nil, err
	}
	argv := []string{"ssh", "-o", "ProxyCommand=" + proxyCommand(self, master)}
	if k.known != "" {
		argv = append(argv, "-o", "UserKnownHostsFile="+sshQuote(k.known), "-o", "StrictHostKeyChecking=yes", "-o", "HostKeyAlias="+s.ID)
	} else {
		argv = append(argv, "-o", "StrictHostKeyChecking=no")
	}
	if a.IO.InTTY {
		argv = append(argv, "-tt")
	}
	argv = append(argv, "-o", "IdentitiesOnly=yes", "-i", k.identity, login(s)+"@"+s.ID)
	return append(argv, options...), nil
}

// proxyCommand is the ProxyCommand of ssh. ssh passes it to a shell after it has replaced words
// that begin with a percent sign.
func proxyCommand(self, master string) string {
	word := quote.Shell
	if runtime.GOOS == "windows" {
		word = func(s string) string { return `"` + s + `"` }
	}
	plain := strings.NewReplacer("%", "%%")
	return plain.Replace(word(self)+" -m "+word(master)) + " shell tunnel %h"
}

// sshQuote quotes a value of an option that contains spaces.
func sshQuote(s string) string {
	if !strings.ContainsAny(s, " \t\"") {
		return strings.ReplaceAll(s, "%", "%%")
	}
	return `"` + strings.NewReplacer("%", "%%", `"`, `\"`).Replace(s) + `"`
}

// login is the account of the shell's owner on the nodes.
func login(s v1.Shell) string {
	var group struct {
		User string `json:"user"`
	}
	if err := s.AgentUserGroup.Into(&group); err != nil || group.User == "" {
		return "root"
	}
	return group.User
}
