package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// The parts of a file that nobody completes are removed: when its program says so, two days later, or when its checkpoint or its experiment was
// deleted. The row of an upload stays until the storage has removed the parts, also beyond the experiment (abandoned_uploads).

// dropParts removes the parts of an upload, and the upload.
func (d Deps) dropParts(ctx context.Context, k Checkpoint, u upload) error {
	to, err := d.partsAt(ctx, k, false)
	if err == nil {
		if u.Store != "" {
			err = to.drop(ctx, u.Name, u.Store)
		}
		if err == nil && u.Size != nil && !u.Finished { // the store may have made the file
			err = d.removeUnrecorded(ctx, to, u.Checkpoint, u.Name)
		}
		err = errors.Join(err, to.Close())
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // what is not there needs no removal
		return err
	}
	return removeUpload(ctx, d.DB, u.ID)
}

// DropUploads removes what programs have begun to send and have not completed within two days, or whose files are being removed. Owners take turns,
// and an upload that it cannot remove is the last one of its owner next time, so that the storage of one user does not keep the others' parts.
func (d Deps) DropUploads(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, dropAllWithin)
	defer cancel()
	if err := forgetUploads(ctx, d.DB, uploadsLast, abandonedLast); err != nil {
		return 0, err
	}
	began, err := database.Scalar[time.Time](ctx, d.DB, `SELECT clock_timestamp()`)
	var failed []error
	for err == nil && ctx.Err() == nil {
		var list []oldUpload
		if list, err = oldUploads(ctx, d.DB, uploadsLast, began); len(list) == 0 {
			break
		}
		for i := 0; i < len(list) && ctx.Err() == nil; i++ {
			u := list[i]
			why := d.dropOld(ctx, u)
			if why == nil {
				n++
			} else if len(failed) < maxDropErrors {
				failed = append(failed, fmt.Errorf("the parts of %s of checkpoint %s: %w", u.Name, u.Checkpoint, why))
			}
		}
	}
	return n, errors.Join(append(failed, err)...)
}

// dropOld removes the parts of one upload, unless a request completes it. What was not removed is the last upload of its owner then.
func (d Deps) dropOld(ctx context.Context, u oldUpload) error {
	within, cancel := context.WithTimeout(ctx, dropWithin)
	defer cancel()
	k := Checkpoint{UUID: u.Checkpoint, Config: u.Config, Storage: u.Storage}
	var err error
	if u.Abandoned || u.Finished { // nobody can complete it
		err = d.dropParts(within, k, u.upload)
	} else {
		_, err = d.holding(within, u.ID, func(ctx context.Context) error {
			now, err := uploadOf(ctx, d.DB, u.Checkpoint, u.Name, u.ID)
			if fault.Is(err, fault.NotFound) { // aborted, or removed
				return d.dropParts(ctx, k, u.upload)
			}
			if err != nil || now.Finished {
				return err
			}
			return d.dropParts(ctx, k, now)
		})
	}
	return errors.Join(err, tryUploadLater(context.WithoutCancel(ctx), d.DB, u.ID))
}
