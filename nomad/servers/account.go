package servers

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// account is who a server runs as. The zero value is whoever runs this program.
type account struct {
	name     string
	uid, gid uint32
}

// other says whether the account is another one than that of this program.
func (a account) other() bool { return a.uid != 0 }

// postgresAccount is who PostgreSQL runs as. It refuses root, so root lends it an account that the
// system has anyhow: its own where the package is installed, else the one that owns nothing.
func postgresAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
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
