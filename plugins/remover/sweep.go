package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/spelling"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A sweep removes folders that programs uploaded and never reported. It removes a folder only if all
// of this holds: its name is a random UUID and not the id of the cluster; everything in it was stored in
// the time of the sweep; and the master knows no checkpoint of that name, asked twice. If a folder looks
// like that of another cluster, the storage is not this cluster's alone, and the sweep removes nothing.

// maxSwept is the maximum number of folders that one sweep removes.
const maxSwept = 5000

// namedStays is how many of the folders that stay the log names.
const namedStays = 10

// randomUUID is the form of the names that programs give to checkpoints.
var randomUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// A stray is a folder that a sweep may remove.
type stray struct {
	name  string
	files map[string]int64
}

// sweep removes what no checkpoint has, and returns the total.
func (r *removal) sweep(ctx context.Context, in Storage, master Reporter, out io.Writer) (total freed) {
	fmt.Fprintf(out, "looking for folders that were stored from %s to %s and belong to no checkpoint\n", r.Sweep.Since.UTC().Format(time.RFC3339), r.Sweep.Until.UTC().Format(time.RFC3339))
	list, err := r.strays(ctx, in, master, out)
	if err != nil {
		total.Error = err.Error()
		return total
	}
	for part := range slices.Chunk(list, v1.MaxStrays) {
		free, err := master.Strays(ctx, r.task, namesOf(part))
		if err != nil {
			total.Error = err.Error()
			return total
		}
		for _, s := range part {
			if !slices.Contains(free, s.name) {
				continue
			}
			var f freed
			err := in.Remove(ctx, s.name, slices.Collect(maps.Keys(s.files)))
			f.account(ctx, in, s.name, s.files, err)
			f.say(out, "folder "+s.name+", which belongs to no checkpoint")
			total.Files, total.Bytes = total.Files+f.Files, total.Bytes+f.Bytes
			total.Error = cmp.Or(total.Error, f.Error)
		}
	}
	return total
}

// strays lists the folders to remove.
func (r *removal) strays(ctx context.Context, in Storage, master Reporter, out io.Writer) ([]stray, error) {
	names, err := in.Folders(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !randomUUID.MatchString(name) || name == r.cluster })
	var list []stray
	var stay []string
	for part := range slices.Chunk(names, v1.MaxStrays) {
		unknown, err := master.Strays(ctx, r.task, part)
		if err != nil {
			return nil, err
		}
		for _, name := range unknown {
			files, why, err := r.look(ctx, in, name)
			switch {
			case err != nil:
				return nil, err
			case why != "":
				stay = append(stay, name+": "+why)
			default:
				list = append(list, stray{name, files})
			}
		}
	}
	if len(list) > maxSwept {
		fmt.Fprintf(out, "%d folders stay: one sweep removes %d\n", len(list)-maxSwept, maxSwept)
		list = list[:maxSwept]
	}
	if len(stay) > 0 {
		fmt.Fprintf(out, "%s that belong to no checkpoint stay, such as\n  %s\n", spelling.Count(len(stay), "folder"), strings.Join(stay[:min(namedStays, len(stay))], "\n  "))
	}
	return list, nil
}

// look lists the files of a folder and says why it stays; "" if it need not.
func (r *removal) look(ctx context.Context, in Storage, name string) (files map[string]int64, why string, err error) {
	files, err = in.List(ctx, name) // before its times: a file that comes later is not in the list
	if err == nil {
		for file := range files {
			if file == "tensorboard/" || strings.HasPrefix(file, "tensorboard/") {
				return nil, "", fmt.Errorf("the folder %s has TensorBoard files, so another cluster uses this storage too: nothing is removed", name)
			}
		}
	}
	oldest, newest, timesErr := in.Times(ctx, name)
	switch err = errors.Join(err, timesErr); {
	case oldest.IsZero():
		return nil, fmt.Sprintf("the time of its files is not known: %v", err), nil
	case newest.After(r.Sweep.Until):
		return nil, "stored until " + newest.UTC().Format(time.RFC3339), nil
	case oldest.Before(r.Sweep.Since):
		return nil, "stored from " + oldest.UTC().Format(time.RFC3339), nil
	case err != nil:
		why = err.Error()    // the folder stays, and the others are looked at
		return nil, why, nil //nolint:nilerr // it is the reason
	}
	return files, "", nil
}

func namesOf(list []stray) []string {
	return each.Of(list, func(s stray) string { return s.name })
}

// span adds a time to the times of a folder.
func span(oldest, newest *time.Time, from, to time.Time) {
	if oldest.IsZero() || from.Before(*oldest) {
		*oldest = from
	}
	if to.After(*newest) {
		*newest = to
	}
}

func (f folder) Folders(context.Context) ([]string, error) {
	d, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	var names []string
	for _, e := range list {
		if e.IsDir() { // no link
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (absent) Folders(context.Context) ([]string, error) { return nil, nil }

func (absent) Times(context.Context, string) (oldest, newest time.Time, err error) { return }

func (b bucket) Folders(ctx context.Context) ([]string, error) {
	if b.prefix == "" {
		return b.Bucket.Folders(ctx, "")
	}
	return b.Bucket.Folders(ctx, b.below(""))
}

func (b bucket) Times(ctx context.Context, dir string) (oldest, newest time.Time, err error) {
	list, err := b.Bucket.List(ctx, b.below(dir))
	for _, o := range list {
		span(&oldest, &newest, o.Modified, o.Modified)
	}
	return oldest, newest, err
}
