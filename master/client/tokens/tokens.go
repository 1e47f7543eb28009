// Package tokens keeps the sessions of a person on this machine.
//
// The file is Determined's own, ~/.config/determined/auth.json in its version 2,
// so that det and Determined's Python client share sessions: who signed in with
// one is signed in with the other. Both take the same lock (auth.json.lock),
// read, change and replace the file by renaming a temporary one over it. The
// older versions of the file are read and written back as version 2.
//
//	{"version": 2, "masters": {"<canonical url>": {
//	    "active_user": "<name>", "tokens": {"<name>": "<token>"}}}}
package tokens

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// ConfigDir is the folder that Determined's client uses for its files.
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
				return "", fault.New(fault.Invalid, "cannot tell where to keep sessions: HOME is not set")
			}
		}
		base = filepath.Join(home, ".config")
		if runtime.GOOS == "darwin" {
			base = filepath.Join(home, "Library", "Application Support")
		}
	}
	return filepath.Join(base, "determined"), nil
}

// Store is the file, seen from one master.
type Store struct {
	path   string
	master string // canonical
}

// Open names the store in dir for a master. The file need not exist.
func Open(dir, master string) (*Store, error) {
	canonical, err := client.Canonical(master)
	if err != nil {
		return nil, err
	}
	return &Store{path: filepath.Join(dir, "auth.json"), master: canonical}, nil
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// Sessions are what is known about one master.
type Sessions struct {
	Active string // who is meant when nobody is named
	Tokens map[string]string
}

// Users are the names with a session, in order.
func (s Sessions) Users() []string {
	names := make([]string, 0, len(s.Tokens))
	for name := range s.Tokens {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Read gives the sessions of the store's master.
//
// It takes no lock: the file is only ever replaced whole, and reading must work
// on a file system that cannot be written.
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

// SetToken remembers a session, and makes its user the active one where wanted.
func (s *Store) SetToken(user, token string, active bool) error {
	return s.change(func(m *master) {
		m.Tokens[user] = token
		if active {
			m.ActiveUser = user
		}
	})
}

// Drop forgets a user's session, and that the user is the active one.
func (s *Store) Drop(user string) error {
	return s.change(func(m *master) {
		delete(m.Tokens, user)
		if m.ActiveUser == user {
			m.ActiveUser = ""
		}
	})
}

// DropToken forgets a session that the master refused, if it is still the one in
// the file: another process may have signed in again meanwhile. The active user
// stays who it was.
func (s *Store) DropToken(user, token string) error {
	return s.change(func(m *master) {
		if m.Tokens[user] == token {
			delete(m.Tokens, user)
		}
	})
}

// document is the file. Unknown fields of other programs are kept.
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

// change reads, changes and writes the file under its lock. A damaged file is
// put aside and begun anew: what it held can be had again by signing in.
func (s *Store) change(fn func(*master)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fault.New(fault.Internal, "no place to keep sessions: %w", err)
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
	defer os.Remove(f.Name()) // gone already when all went well
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
