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

// ErrNoLeftover is that there is no such file or folder, or no such allocation any
// more; ErrMayNotRead that the token has not the right read-fs.
var (
	ErrNoLeftover = errors.New("nothing is left there")
	ErrMayNotRead = errors.New("the master's Nomad token may not read files of allocations: its policy lacks read-fs")
)

// LeftoverFiles lists the files of a folder below the one of ours that an allocation's
// processes share. It asks the server, which asks the node: no way from here to the
// nodes is needed.
func (c *Cluster) LeftoverFiles(ctx context.Context, nomadAllocID, folder string) ([]LeftoverFile, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	list, _, err := c.api.AllocFS().List(&api.Allocation{ID: nomadAllocID}, leftPath(folder), c.query(call, c.cfg.Namespace))
	if err != nil {
		return nil, c.leftError(nomadAllocID, err)
	}
	var files []LeftoverFile
	for _, f := range list {
		if !f.IsDir {
			files = append(files, LeftoverFile{f.Name, f.Size})
		}
	}
	return files, nil
}

// ReadLeftover reads a file there from its beginning, up to a number of bytes.
func (c *Cluster) ReadLeftover(ctx context.Context, nomadAllocID, file string, most int64) ([]byte, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	// Nomad answers a read that fails with nothing, and status 200; so it is asked first.
	if _, _, err := c.api.AllocFS().Stat(&api.Allocation{ID: nomadAllocID}, leftPath(file), c.query(call, c.cfg.Namespace)); err != nil {
		return nil, c.leftError(nomadAllocID, err)
	}
	q := c.query(call, c.cfg.Namespace)
	q.Params = map[string]string{"path": leftPath(file), "offset": "0", "limit": strconv.FormatInt(most, 10)}
	// Raw, because the API's own call goes to the node directly, with another token.
	body, err := c.api.Raw().Response("/v1/client/fs/readat/"+url.PathEscape(nomadAllocID), q)
	if err != nil {
		return nil, c.leftError(nomadAllocID, err)
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil {
		return nil, fmt.Errorf("nomad at %s: files of allocation %s: %w", c.cfg.Address, nomadAllocID, err)
	}
	return content, nil
}

func leftPath(name string) string { return path.Join("/alloc", leftover.Folder, name) }

// leftError tells apart what will not change. Nomad says with a 500 that there is no
// such file.
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
	return fmt.Errorf("nomad at %s: files of allocation %s: %w", c.cfg.Address, nomadAllocID, err)
}
