package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/attempts/leftover"
)

// A LeftoverFile is a file in a folder of a Nomad allocation.
type LeftoverFile struct {
	Name string
	Size int64
}

// ErrNoLeftover means that the file, folder or allocation does not exist; ErrMayNotRead
// means that the token lacks the right read-fs.
var (
	ErrNoLeftover = errors.New("nothing is left there")
	ErrMayNotRead = errors.New("the master's Nomad token may not read files of allocations: its policy lacks read-fs")
)

// Limits of a listing. A runner leaves some hundred files; a program of the task can make any number.
const (
	maxListing   = 4 << 20 // bytes of Nomad's answer
	maxLeftovers = 1000    // files that are kept
)

// ErrManyLeftovers means that a folder has more files than a runner leaves.
var ErrManyLeftovers = errors.New("the folder has more files than a runner leaves there")

// LeftoverFiles lists the regular files of a runner in a folder below leftover.Folder, in the folder that the
// tasks of an allocation share: the record of an exit, and files of log lines. The request goes through Nomad's server, so
// the master needs no connection to the node.
//
// A program of the task can put a pipe in the place of a file. Whatever opens it waits for ever: Nomad's client on the node would with Stat,
// too, which reads the beginning of a file. A list opens no file. The program can make files, too, so the list is read a file at a time.
func (c *Cluster) LeftoverFiles(ctx context.Context, nomadAllocID, folder string) ([]LeftoverFile, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	q := c.query(call, c.cfg.Namespace)
	q.Params = map[string]string{"path": leftPath(folder)}
	// Raw, because the client's own function reads the whole list.
	body, err := c.api.Raw().Response("/v1/client/fs/ls/"+url.PathEscape(nomadAllocID), q)
	if err != nil {
		return nil, c.leftError(nomadAllocID, err)
	}
	defer func() { _ = body.Close() }()
	files, err := leftoversIn(body)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s of allocation %s through Nomad at %s: %w", leftPath(folder), nomadAllocID, c.cfg.Address, err)
	}
	return files, nil
}

// leftoversIn reads a list of Nomad's.
func leftoversIn(body io.Reader) (files []LeftoverFile, err error) {
	limited := &io.LimitedReader{R: body, N: maxListing}
	defer func() {
		if err != nil && limited.N <= 0 {
			err = ErrManyLeftovers
		}
	}()
	d := json.NewDecoder(limited)
	if first, err := d.Token(); err != nil || first != json.Delim('[') { // null is an empty list
		return nil, err
	}
	for d.More() {
		var f struct {
			Name, FileMode string
			Size           int64
		}
		if err := d.Decode(&f); err != nil {
			return nil, err
		}
		if _, lines := leftover.FirstLine(f.Name); !strings.HasPrefix(f.FileMode, "-") || !lines && f.Name != leftover.RecordFile {
			continue
		}
		if len(files) == maxLeftovers {
			return nil, ErrManyLeftovers
		}
		files = append(files, LeftoverFile{f.Name, f.Size})
	}
	_, err = d.Token()
	return files, err
}

// ReadLeftover reads up to `most` bytes from the beginning of a file that LeftoverFiles has listed. Nomad answers a read that fails with
// status 200, too, and without the file's content.
func (c *Cluster) ReadLeftover(ctx context.Context, nomadAllocID, file string, most int64) ([]byte, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	q := c.query(call, c.cfg.Namespace)
	q.Params = map[string]string{"path": leftPath(file), "offset": "0", "limit": strconv.FormatInt(most, 10)}
	// Raw, because the client's own function connects to the node directly, with another token.
	body, err := c.api.Raw().Response("/v1/client/fs/readat/"+url.PathEscape(nomadAllocID), q)
	if err != nil {
		return nil, c.leftError(nomadAllocID, err)
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil {
		return nil, fmt.Errorf("cannot read files of allocation %s through Nomad at %s: %w", nomadAllocID, c.cfg.Address, err)
	}
	return content, nil
}

func leftPath(name string) string { return path.Join("/alloc", leftover.Folder, name) }

// leftError classifies an error of these requests. Nomad answers 500 for a file that does
// not exist.
func (c *Cluster) leftError(nomadAllocID string, err error) error {
	body := rawBody(err)
	switch {
	case statusOf(err) == http.StatusForbidden:
		return ErrMayNotRead
	case statusOf(err) == http.StatusNotFound,
		strings.Contains(body, "no such file or directory"), strings.Contains(body, "file does not exist"),
		strings.Contains(body, "Unknown allocation"), strings.Contains(body, "unknown allocation"):
		return fmt.Errorf("%w: %s", ErrNoLeftover, bodyOf(err))
	}
	return fmt.Errorf("cannot read files of allocation %s through Nomad at %s: %w", nomadAllocID, c.cfg.Address, err)
}
