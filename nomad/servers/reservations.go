package servers

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A server listens on its port only some time after the port was chosen. Clusters of one user that
// start at the same time would choose the same ports, so each records its ports in the cache.

// reservedFor is how long a port stays reserved: from the choice to the start of a server on a slow
// machine.
const reservedFor = 10 * time.Minute

// A reservation reserves something for one cluster until a time, or while a folder exists.
type reservation struct {
	Until  time.Time `json:"until"`
	Folder string    `json:"folder,omitempty"`
}

func (r reservation) holds(now time.Time) bool {
	if r.Folder == "" {
		return now.Before(r.Until)
	}
	_, err := os.Stat(r.Folder)
	return err == nil
}

// ReserveFor reserves a name for the owner of a folder, and returns false if another one has it. The
// reservation ends with the folder. If the file cannot be written, nothing is reserved.
func ReserveFor(name, folder string) bool { return reserve(name, reservation{Folder: folder}) }

func reserve(name string, r reservation) bool {
	dir, err := CacheDir()
	if err != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	path := filepath.Join(dir, "reservations.json")
	unlock, err := Lock(ctx, path+".lock", nil)
	if err != nil {
		return true
	}
	defer unlock()
	held := map[string]reservation{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		clear(held) // damaged: replaced
	}
	now := time.Now()
	for other, h := range held {
		if !h.holds(now) {
			delete(held, other)
		}
	}
	if h, taken := held[name]; taken && (r.Folder == "" || h.Folder != r.Folder) {
		return false
	}
	held[name] = r
	if text, err = json.MarshalIndent(held, "", "  "); err == nil {
		_ = ReplaceFile(path, text) // an error only means that nothing is reserved
	}
	return true
}

// ReplaceFile replaces a file, which only its owner may read, so that a reader never sees an incomplete one.
func ReplaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
