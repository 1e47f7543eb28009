package checkpoints

import (
	"context"
	"os"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

const (
	MaxLiveRemovals = maxLiveRemovals
	MaxNewStorages  = maxNewStorages
	MaxStorageBytes = maxStorageBytes
)

// RecordLogged records a file that was written.
var RecordLogged = recordLogged

// OldUploads are the names of the uploads whose parts the chore removes, in its order.
func OldUploads(ctx context.Context, db *database.DB) ([]string, error) {
	list, err := oldUploads(ctx, db, uploadsLast, time.Now())
	return each.Of(list, func(u oldUpload) string { return u.Name }), err
}

// AppendPart appends a part of a folder to a file, as if the part had this size.
func AppendPart(ctx context.Context, folder *os.Root, to *os.File, part string, size int64) error {
	return partedFolder{folderSource{folder}}.appendTo(ctx, to, part, size)
}

// DropFolder removes the parts of an upload in a folder.
func DropFolder(ctx context.Context, folder *os.Root, store string) error {
	return partedFolder{folderSource{folder}}.drop(ctx, "a.bin", store)
}
