package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/leftover"
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

// LeftoverFiles lists the regular files of a folder below leftover.Folder, in the folder that the
// tasks of an allocation share. The request goes through Nomad's server, so the master
// needs no connection to the node.
//
// A program of the task can put a pipe in the place of a file. Whatever opens it waits for ever: Nomad's client on the node would with Stat,
// too, which reads the beginning of a file. A list opens no file.
func (c *Cluster) LeftoverFiles(ctx context.Context, nomadAllocID, folder string) ([]LeftoverFile, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	list, _, err := c.api.AllocFS().List(&api.Allocation{ID: nomadAllocID}, leftPath(folder), c.query(call, c.cfg.Namespace))
	if err != nil {
		return nil, c.leftError(nomadAllocID, err)
	}
	var files []LeftoverFile
	for _, f := range list {
		if strings.HasPrefix(f.FileMode, "-") {
			files = append(files, LeftoverFile{f.Name, f.Size})
		}
	}
	return files, nil
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
