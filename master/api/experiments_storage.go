package api

import (
	"path"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
)

// longestID is as long as the id of an experiment can become.
const longestID = 1<<31 - 1

// placeCheckpoints gives an experiment a part of its bucket that is its own: below
// the configured prefix and its id. The id is not known yet, so the store adds it;
// what is put together here is checked as if it were. The submitted text stays as
// it is, so a fork gets a part of its own as well, also when it was made out of
// the stored configuration, which has its parent's.
func (a *API) placeCheckpoints(s *submission, cfg *expconf.Config) error {
	storage := &cfg.CheckpointStorage
	if storage.Type != expconf.S3 {
		return nil
	}
	prefix := strings.TrimPrefix(path.Clean("/"+text(storage.Prefix)), "/")
	if s.parent != nil {
		if own := ownPrefix(s.parent.Config); own != "" && own == prefix {
			prefix = strings.TrimSuffix(strings.TrimSuffix(prefix, strconv.Itoa(s.parent.ID)), "/")
		}
	}
	storage.Prefix, s.PrefixByID = &prefix, true
	if a.cfg.CheckStorage == nil {
		return nil
	}
	whole := path.Join(prefix, strconv.Itoa(longestID))
	probe := *storage
	probe.Prefix = &whole
	if err := a.cfg.CheckStorage(probe); err != nil {
		return fault.New(fault.Invalid, "the configuration has a problem: %w", err)
	}
	return nil
}

// ownPrefix is where in its bucket an experiment keeps its checkpoints; "" where
// that is no bucket.
func ownPrefix(config []byte) string {
	cfg, err := expconf.ParseConfigJSON(config)
	if err != nil || cfg.CheckpointStorage.Type != expconf.S3 {
		return ""
	}
	return text(cfg.CheckpointStorage.Prefix)
}
