package checkpoints

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Limits of one checkpoint, or of one report of removed files. They are so large that only
// false reports exceed them, and so small that sums of many reports do not overflow.
const (
	MaxBytes      = 1 << 50 // of all files of a checkpoint: a pebibyte
	MaxFiles      = 100_000 // files and folders of a checkpoint
	maxNamesBytes = 4 << 20 // bytes of all their names together
	maxFileName   = 4096    // bytes of a name: Linux's limit of a path
	maxMetadata   = 1 << 20 // bytes of a checkpoint's metadata
	maxRecords    = 1 << 26 // bytes of the names and metadata of all checkpoints of a task, as PostgreSQL stores them
)

// bytesOf adds up the sizes of a checkpoint's files, and rejects sums over the limits.
func bytesOf(files map[string]int64) (int64, error) {
	if len(files) > MaxFiles {
		return 0, fault.New(fault.Invalid, "resources: a checkpoint of %d files is over the limit of %d; put them into archives", len(files), MaxFiles)
	}
	total, names := int64(0), 0
	for name, n := range files {
		if len(name) > maxFileName {
			return 0, fault.New(fault.Invalid, "resources: the name %.100q… has %d bytes; %d are allowed", name, len(name), maxFileName)
		}
		if n < 0 || n > MaxBytes || total+n > MaxBytes {
			return 0, fault.New(fault.Invalid, "resources: %.100q has %d bytes; a checkpoint has from 0 to %d, all its files together", name, n, int64(MaxBytes))
		}
		total, names = total+n, names+len(name)
	}
	if names > maxNamesBytes {
		return 0, fault.New(fault.Invalid, "resources: the names of the files have %d bytes together; %d are allowed", names, maxNamesBytes)
	}
	return total, nil
}

// boundMetadata rejects metadata that are too large to be shown with each checkpoint of a list.
func boundMetadata(metadata json.RawMessage) error {
	if len(metadata) > maxMetadata {
		return fault.New(fault.TooLarge, "metadata: %d bytes are over the limit of %d; put them into a file of the checkpoint", len(metadata), maxMetadata)
	}
	return nil
}

// boundTask rejects one checkpoint too many of a task.
func boundTask(ctx context.Context, db *database.DB, task string) error {
	size, err := database.Scalar[int64](ctx, db, `SELECT coalesce(sum(200 + pg_column_size(resources) + pg_column_size(metadata) + logged_names + 60 * logged_files), 0)::bigint FROM checkpoints WHERE task_id = $1`, task)
	if err == nil && size > maxRecords {
		err = fault.New(fault.TooLarge, "the names of files and the metadata of the checkpoints of task %s take %s in the database; the limit for one task is %s: "+
			"delete checkpoints, or put their files into archives", task, database.SizeText(size), database.SizeText(maxRecords))
	}
	return err
}
