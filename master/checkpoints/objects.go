package checkpoints

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
)

// A Bucket is an object storage that the master can read.
type Bucket interface {
	// Find returns which of the names exist below a prefix.
	Find(ctx context.Context, prefix string, names []string) (map[string]bool, error)
	// Get reads one object; the caller closes the reader.
	Get(ctx context.Context, key string) (io.ReadCloser, Object, error)
	// Close closes the connections to the store.
	Close()
}

// An Object is a file in a bucket.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
}

// objectSource is a checkpoint in a bucket.
type objectSource struct {
	bucket Bucket
	prefix string // ends with a slash
}

// objectSource uses only the experiment's stored configuration, not what a task has reported:
// the master may read the checkpoints of all buckets, and a task only its own.
func (d Deps) objectSource(ctx context.Context, k Checkpoint, kind string) (source, error) {
	if d.Bucket == nil || len(k.Config) == 0 {
		return nil, fault.New(fault.Unimplemented,
			"checkpoint %s is in storage of type %s, which this master cannot read; download it directly, with your own credentials", k.UUID, kind)
	}
	cfg, err := expconf.ParseConfigJSON(k.Config)
	if err != nil {
		return nil, err
	}
	s := cfg.CheckpointStorage
	if s.Type != kind {
		return nil, fault.New(fault.Forbidden, "checkpoint %s was reported in storage of type %s, but its experiment's storage has type %s", k.UUID, kind, s.Type)
	}
	bucket, err := d.Bucket(ctx, s)
	if err != nil {
		return nil, err
	}
	_, prefix := s.Place()
	return objectSource{bucket, path.Join(prefix, k.UUID) + "/"}, nil
}

func (o objectSource) files(ctx context.Context, k Checkpoint) ([]string, error) {
	names := slices.Sorted(maps.Keys(k.Resources))
	var sought []string
	for _, name := range names {
		if path.Clean("/"+name) != "/"+strings.TrimSuffix(name, "/") {
			return nil, fault.New(fault.Forbidden, "%q of checkpoint %s is not a plain path", name, k.UUID)
		}
		if !strings.HasSuffix(name, "/") {
			sought = append(sought, name)
		}
	}
	there, err := o.bucket.Find(ctx, o.prefix, sought)
	if err != nil {
		return nil, err
	}
	for _, name := range sought {
		if !there[name] {
			return nil, fault.New(fault.NotFound, "file %s of checkpoint %s is no longer in its storage", name, k.UUID)
		}
	}
	return names, nil
}

func (o objectSource) open(ctx context.Context, name string) (io.ReadCloser, fileInfo, error) {
	if strings.HasSuffix(name, "/") {
		return io.NopCloser(strings.NewReader("")), fileInfo{folder: true}, nil
	}
	body, object, err := o.bucket.Get(ctx, o.prefix+name)
	if err != nil {
		return nil, fileInfo{}, fmt.Errorf("%s: %w", name, err)
	}
	return body, fileInfo{size: object.Size, modified: object.Modified}, nil
}

// Close closes the connections to the store.
func (o objectSource) Close() error {
	o.bucket.Close()
	return nil
}
