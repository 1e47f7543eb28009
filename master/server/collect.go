package server

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/store"
)

// Files are removed by tasks of the runner's own, which see the storage as trials do.

// collects says whether an attempt is of such a task.
func collects(s store.ToSubmit) bool { return s.TaskType == jobspecs.CheckpointGC }

// collectIn names the pool in which files of an experiment are removed: the one for
// tasks without slots. Where the storage is a folder of nodes, that pool must be
// able to show it to tasks: in images, and where nothing is mounted, only the pool
// in which the trials ran is known to have it.
func (m *master) collectIn(s store.Stored) (string, error) {
	cfg, err := expconf.ParseConfigJSON(s.Config)
	if err != nil {
		return "", fmt.Errorf("the configuration of experiment %d: %w", s.ID, err)
	}
	own := slices.ContainsFunc(m.cfg.Pools, func(p PoolConfig) bool { return p.Name == s.Pool })
	for _, p := range m.cfg.Pools {
		if p.Name == m.cfg.DefaultAuxPool && (!own || cfg.CheckpointStorage.Type == expconf.S3 && !p.docker() || p.Driver == "raw_exec") {
			return p.Name, nil
		}
	}
	return s.Pool, nil
}
