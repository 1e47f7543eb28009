// Package regular opens files that the program of a task may have replaced: by a link to a file of another account,
// or by a pipe, on which a reader would wait forever. It opens regular files only.
package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Max is how much Read reads of a file. The files of runners are smaller.
const Max = 16 << 20

// ErrOther means that the path has something other than a regular file.
var ErrOther = errors.New("it is no regular file")

// Open opens a file like os.OpenFile. It follows no link in the last part of the path, and waits for no other end of a pipe.
func Open(path string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|special, perm)
	if err != nil {
		if info, at := os.Lstat(path); at == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: %w", path, ErrOther)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrOther)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a whole file.
func Read(path string) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, Max+1))
	if err == nil && len(content) > Max {
		err = fmt.Errorf("%s has more than %d MiB", path, Max>>20)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}
