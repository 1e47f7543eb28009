package servers

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// account is the account of a server. The zero value is the account of this program.
type account struct {
	name     string
	uid, gid uint32
}

// other reports whether the account differs from that of this program.
func (a account) other() bool { return a.uid != 0 }

// postgresAccount is the account of PostgreSQL. PostgreSQL refuses to run as root, so root uses an
// existing account: postgres if the package is installed, or else nobody.
func postgresAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if _, ok := errors.AsType[user.UnknownUserError](err); ok {
			continue
		}
		if err != nil {
			return account{}, err
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s has the id %q: %w", name, u.Uid, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("group of user %s has the id %q: %w", name, u.Gid, err)
		}
		return account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and this system has neither a user \"postgres\" nor \"nobody\"; add one of them, or run as another user than root")
}
