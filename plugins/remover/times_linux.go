package main

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"
)

// Times uses the times of changes, which the file system sets: a copied file may keep the time of its
// original. Of a folder that cannot be read it returns the folder's own time with the error.
func (f folder) Times(_ context.Context, dir string) (oldest, newest time.Time, err error) {
	err = fs.WalkDir(f.root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.New("the file system has no times of changes")
		}
		changed := time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec)) //nolint:unconvert // int32 on 32-bit platforms
		span(&oldest, &newest, changed, changed)
		return nil
	})
	return oldest, newest, err
}
