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

// Whoever chooses a port listens on it only later, when a server starts. Clusters of one user that start
// side by side would choose the same ones meanwhile, so each writes down in the cache what it chose.

// reservedFor is how long a port is kept for who asked for it: from the choice to the start of a server
// on a slow machine.
const reservedFor = 10 * time.Minute

// A reservation keeps something for one cluster until a time, or for as long as a folder is there.
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

// ReserveFor keeps something by its name for whom a folder belongs to, and is false when another has it.
// The reservation ends with the folder. Where nothing can be written down, nothing is kept from anybody.
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
		clear(held) // it is damaged: written anew
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
		_ = replaceFile(path, text) // not written down, it is not kept
	}
	return true
}

// replaceFile puts a file in the place of another at once.
func replaceFile(path string, text []byte) error {
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
