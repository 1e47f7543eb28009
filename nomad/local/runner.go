package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
)

// offerRunner tells Nomad that these nodes have the runner which the master serves, as an operator can: their tasks start it
// where it is, instead of fetching it for each attempt. If the cluster's master is replaced by one with another runner, this is said again.
func (c masterServer) offerRunner(ctx context.Context, clients ...Client) error {
	m := c.state.Master
	if m.Runner == "" || m.FetchRunner {
		return nil
	}
	path, err := c.keepRunner()
	if err != nil {
		return err
	}
	nomad, err := c.Nomad()
	if err != nil {
		return err
	}
	nodes, _, err := nomad.Nodes().List((&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return fmt.Errorf("cannot ask Nomad for the cluster's nodes: %w", err)
	}
	key := strings.TrimPrefix(pool.RunnerMeta, "meta.")
	for _, n := range nodes {
		mine := slices.ContainsFunc(clients, func(client Client) bool { return c.nodeName(client.Name) == n.Name })
		if !mine || n.Status != api.NodeStatusReady {
			continue
		}
		request := &api.NodeMetaApplyRequest{NodeID: n.ID, Meta: map[string]*string{key: &path}}
		if _, err := nomad.Nodes().Meta().Apply(request, (&api.QueryOptions{}).WithContext(ctx)); err != nil {
			return fmt.Errorf("cannot set %s of node %s in Nomad: %w", key, n.Name, err)
		}
	}
	return nil
}

// keepRunner copies the runner into the cluster's folder, under a name with its SHA-256, if it is not there yet.
func (c masterServer) keepRunner() (string, error) {
	program, err := os.ReadFile(c.state.Master.Runner)
	if err != nil {
		return "", err
	}
	path := c.path("bin", pool.RunnerName(fmt.Sprintf("%x", sha256.Sum256(program))))
	if isFile(path) {
		return path, nil
	}
	if err := os.MkdirAll(c.path("bin"), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(c.path("bin"), ".new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	whole := filepath.Join(fresh, filepath.Base(path))
	if err := errors.Join(os.WriteFile(whole, program, 0o700), os.Chmod(whole, 0o755)); err != nil { // the bytes of the hash, whatever the umask is
		return "", err
	}
	return path, os.Rename(whole, path)
}

// copyRunner copies the runner and the programs beside it into the cluster's folder, and returns the copy's path.
func (c masterServer) copyRunner() (string, error) {
	runner, beside := c.state.Master.Runner, []string{"det-remover"}
	if isFile(filepath.Join(filepath.Dir(runner), "det")) {
		beside = append(beside, "det")
	}
	return c.copyBinary(runner, beside...)
}
