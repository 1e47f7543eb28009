//go:build !linux

package main

import (
	"context"
	"errors"
	"time"
)

// Times fails: nodes run Linux.
func (f folder) Times(context.Context, string) (oldest, newest time.Time, err error) {
	return oldest, newest, errors.New("only on Linux files have times of changes")
}
