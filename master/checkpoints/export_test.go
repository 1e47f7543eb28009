package checkpoints

import (
	"context"
	"os"
)

const (
	MaxLiveRemovals = maxLiveRemovals
	MaxNewStorages  = maxNewStorages
	MaxStorageBytes = maxStorageBytes
)

// RecordLogged records a file that was written.
var RecordLogged = recordLogged

// AppendPart appends a part of a folder to a file, as if the part had this size.
func AppendPart(ctx context.Context, folder *os.Root, to *os.File, part string, size int64) error {
	return partedFolder{folderSource{folder}}.appendTo(ctx, to, part, size)
}
