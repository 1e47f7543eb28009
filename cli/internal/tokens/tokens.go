// Package tokens stores the sessions of a user on this machine.
//
// The file is that of Determined's client, ~/.config/determined/auth.json in version 2, so that
// det and Determined's Python client share sessions. Both take the same lock (auth.json.lock),
// change the content, and replace the file by renaming a temporary file. Older versions of the
// file are read, and written back as version 2.
//
//	{"version": 2, "masters": {"<canonical url>": {
//	    "active_user": "<name>", "tokens": {"<name>": "<token>"}}}}
package tokens

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// ConfigDir is the folder of the files of Determined's client.
func ConfigDir(getenv func(string) string) (string, error) {
	if dir := getenv("DET_DEBUG_CONFIG_PATH"); dir != "" {
		return dir, nil
	}
	base := ""
	switch runtime.GOOS {
	case "linux":
		base = getenv("XDG_CONFIG_HOME")
	case "windows":
		base = getenv("LOCALAPPDATA")
	}
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			var err error
			if home, err = os.UserHomeDir(); err != nil {
				return "", fault.New(fault.Invalid, "cannot store sessions: HOME is not set")
			}
		}
		base = filepath.Join(home, ".config")
		if runtime.GOOS == "darwin" {
			base = filepath.Join(home, "Library", "Application Support")
		}
	}
	return filepath.Join(base, "determined"), nil
}

// Store accesses the sessions of one master in the file.
type Store struct {
	path   string
	master string // canonical
}

// Open returns the store in dir for a master. The file need not exist.
func Open(dir, master string) (*Store, error) {
	canonical, err := client.Canonical(master)
	if err != nil {
		return nil, err
	}
	return &Store{path: filepath.Join(dir, "auth.json"), master: canonical}, nil
}

// Path is the path of the file.
func (s *Store) Path() string { return s.path }

// Sessions are the sessions of one master.
type Sessions struct {
	Active string // the default user
	Tokens map[string]string
}

// Users lists the users with a session, in order.
func (s Sessions) Users() []string { return slices.Sorted(maps.Keys(s.Tokens)) }

// Read returns the sessions of the store's master.
//
// It takes no lock, because the file is always replaced as a whole, and reading must work on a
// read-only file system.
func (s *Store) Read() (Sessions, error) {
	doc, err := s.load()
	if err != nil {
		return Sessions{}, err
	}
	m := doc.Masters[s.master]
	if m == nil {
		return Sessions{}, nil
	}
	return Sessions{Active: m.ActiveUser, Tokens: m.Tokens}, nil
}

// SetToken stores a session, and makes its user the active one if active is true.
func (s *Store) SetToken(user, token string, active bool) error {
	return s.change(func(m *master) {
		m.Tokens[user] = token
		if active {
			m.ActiveUser = user
		}
	})
}

// Drop removes a user's session, and the mark that the user is active.
func (s *Store) Drop(user string) error {
	return s.change(func(m *master) {
		delete(m.Tokens, user)
		if m.ActiveUser == user {
			m.ActiveUser = ""
		}
	})
}

// DropToken removes a session that the master rejected, if the file still has it: another
// process may have signed in again. The active user does not change.
func (s *Store) DropToken(user, token string) error {
	return s.change(func(m *master) {
		if m.Tokens[user] == token {
			delete(m.Tokens, user)
		}
	})
}

// document is the content of the file. Unknown fields are kept.
type document struct {
	Masters map[string]*master
	other   map[string]json.RawMessage
}

type master struct {
	ActiveUser string
	Tokens     map[string]string
}

func (s *Store) load() (*document, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &document{Masters: map[string]*master{}}, nil
	}
	if err != nil {
		return nil, fault.New(fault.Internal, "the file of sessions cannot be read: %w", err)
	}
	doc, err := parse(text, s.master)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the file of sessions %s is damaged (%w); delete it and sign in again", s.path, err)
	}
	return doc, nil
}

// change reads, changes and writes the file under its lock. It renames a damaged file and
// begins a new one: users can sign in again.
func (s *Store) change(fn func(*master)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fault.New(fault.Internal, "cannot create the folder of sessions: %w", err)
	}
	unlock, err := lock(s.path + ".lock")
	if err != nil {
		return fault.New(fault.Internal, "the file of sessions cannot be locked: %w", err)
	}
	defer unlock()
	doc, err := s.load()
	if fault.Is(err, fault.Invalid) {
		if rerr := os.Rename(s.path, s.path+".damaged"); rerr != nil {
			return err
		}
		doc, err = &document{Masters: map[string]*master{}}, nil
	}
	if err != nil {
		return err
	}
	m := doc.Masters[s.master]
	if m == nil {
		m = &master{}
		doc.Masters[s.master] = m
	}
	if m.Tokens == nil {
		m.Tokens = map[string]string{}
	}
	fn(m)
	return s.write(doc)
}

func (s *Store) write(doc *document) error {
	text, err := doc.encode()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), "auth.json.")
	if err != nil {
		return fault.New(fault.Internal, "the file of sessions cannot be written: %w", err)
	}
	defer os.Remove(f.Name()) // after success the file does not exist
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return fault.New(fault.Internal, "the file of sessions cannot be written: %w", err)
	}
	return nil
}
