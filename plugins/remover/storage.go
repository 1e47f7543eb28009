package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/objects"
	"github.com/detent-ml/detent/plugins/runner/credentials"
)

// Storage stores the files of checkpoints: a folder or a bucket.
type Storage interface {
	// List lists the names below one of its folders, with sizes; names of folders end in a slash. A
	// missing folder is empty.
	List(ctx context.Context, dir string) (map[string]int64, error)
	// Remove removes names from a folder; missing names are no error.
	Remove(ctx context.Context, dir string, names []string) error
	// There returns an error if the storage may not be mounted.
	There(ctx context.Context) error
	// Folders lists the names of the folders directly in the storage.
	Folders(ctx context.Context) ([]string, error)
	// Times returns when the oldest and the newest of what is in a folder was stored; with an error, of
	// what could be read.
	Times(ctx context.Context, dir string) (oldest, newest time.Time, err error)
	close()
}

// open opens the storage.
func (r *removal) open(ctx context.Context) (Storage, error) {
	s := r.Storage
	if s.Bucket == "" {
		return openFolder(s.Folder)
	}
	b, err := r.openBucket(ctx)
	if err != nil {
		return nil, err
	}
	return bucket{b, s.Prefix}, nil
}

// The kinds of buckets other than S3.
const (
	kindGCS   = "gcs"
	kindAzure = "azure"
)

// openBucket opens a storage in a bucket of any kind.
func (r *removal) openBucket(ctx context.Context) (*objects.Bucket, error) {
	switch r.Storage.Kind {
	case kindGCS:
		o := objects.GCS{Bucket: r.Storage.Bucket}
		if r.keysFile != "" {
			o.Credentials = func(context.Context) ([]byte, error) { return os.ReadFile(r.keysFile) }
		}
		return objects.OpenGCS(o), nil
	case kindAzure:
		return r.openAzure()
	}
	return r.openS3(ctx)
}

func (r *removal) openAzure() (*objects.Bucket, error) {
	s := r.Storage
	account, err := objects.AzureFields{ConnectionString: s.ConnectionString, AccountURL: s.AccountURL, Credential: s.Credential}.Account()
	switch {
	case err != nil || account.Signed():
	case r.keysFile == "":
		account, err = account.SignedByEnvironment()
	default:
		var secret []byte
		if secret, err = os.ReadFile(r.keysFile); err == nil {
			account, err = account.SignedBy(secret)
		}
	}
	if err != nil {
		return nil, err
	}
	return objects.OpenAzure(objects.Azure{Container: s.Bucket, AzureAccount: account})
}

func (r *removal) openS3(ctx context.Context) (*objects.Bucket, error) {
	s := r.Storage
	o := objects.Store{Bucket: s.Bucket, Endpoint: s.Endpoint, Region: s.Region}
	switch {
	case s.AccessKey != "":
		o.Keys = func(context.Context) (objects.Keys, error) {
			return objects.Keys{AccessKey: s.AccessKey, SecretKey: s.SecretKey}, nil
		}
	case r.keysFile != "":
		o.Keys = func(ctx context.Context) (objects.Keys, error) { return keysOf(ctx, r.keysFile) }
	}
	return objects.Open(ctx, o)
}

// keysOf reads the current keys, as programs receive them.
func keysOf(ctx context.Context, file string) (objects.Keys, error) {
	var text bytes.Buffer
	if err := credentials.Print(ctx, file, &text, time.Now); err != nil {
		return objects.Keys{}, err
	}
	var k struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
		Expiration      time.Time
	}
	err := json.Unmarshal(text.Bytes(), &k)
	return objects.Keys{AccessKey: k.AccessKeyID, SecretKey: k.SecretAccessKey, SessionToken: k.SessionToken, Expires: k.Expiration}, err
}

// folder is a storage that the task sees as a folder. Links cannot lead out of it.
type folder struct {
	root *os.Root
	path string
}

func openFolder(at string) (Storage, error) {
	root, err := os.OpenRoot(at)
	if errors.Is(err, fs.ErrNotExist) { // the folder is created with the first file
		return absent{err}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("this node cannot see the storage: %w: mount it on this node, or exclude the node from the pool", err)
	}
	return folder{root, at}, nil
}

// absent is a storage whose folder does not exist. It is empty, which is correct if nothing was
// ever stored.
type absent struct{ why error }

func (absent) close() {}

func (a absent) There(context.Context) error {
	return fmt.Errorf("this node cannot see the storage: %w: mount it on this node, or exclude the node from the pool", a.why)
}

func (absent) List(context.Context, string) (map[string]int64, error) { return map[string]int64{}, nil }

func (absent) Remove(context.Context, string, []string) error { return nil }

func (f folder) close() { _ = f.root.Close() }

func (f folder) There(context.Context) error {
	d, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if names, _ := d.Readdirnames(1); len(names) == 0 {
		return fmt.Errorf("%s is empty on this node, so the storage may not be mounted: "+
			"mount it; if the storage is really empty, create any file in it", f.path)
	}
	return nil
}

func (f folder) List(_ context.Context, dir string) (map[string]int64, error) {
	info, err := f.root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]int64{}, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s in %s is not a folder", dir, f.path)
	}
	found := map[string]int64{}
	err = fs.WalkDir(f.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || name == dir && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(name, dir+"/")
		if d.IsDir() {
			found[rel+"/"] = 0
			return nil
		}
		info, err := d.Info()
		if err == nil {
			found[rel] = info.Size()
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return found, err
}

func (f folder) Remove(ctx context.Context, dir string, names []string) error {
	slices.Sort(names) // a folder comes before its contents
	slices.Reverse(names)
	var errs []error
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := f.root.Remove(path.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 3 {
		errs = append(errs[:3], fmt.Errorf("and %d more", len(errs)-3))
	}
	if left, err := f.List(ctx, dir); err == nil && len(left) == 0 {
		if err := f.root.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// bucket is a storage in a bucket, below a prefix.
type bucket struct {
	*objects.Bucket
	prefix string
}

func (b bucket) close() { b.Close() }

func (b bucket) There(context.Context) error { return nil } // the bucket has answered

func (b bucket) below(dir string) string { return path.Join(b.prefix, dir) + "/" }

func (b bucket) List(ctx context.Context, dir string) (map[string]int64, error) {
	list, err := b.Bucket.List(ctx, b.below(dir))
	found := make(map[string]int64, len(list))
	for _, o := range list {
		if name := strings.TrimPrefix(o.Key, b.below(dir)); name != "" {
			found[name] = o.Size
		}
	}
	return found, err
}

// atOnce is the number of objects that are removed at the same time.
const atOnce = 16

func (b bucket) Remove(ctx context.Context, dir string, names []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, name := range names {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-room }()
			if err := b.Bucket.Remove(ctx, b.below(dir)+name); err != nil {
				stop(err) // the others would fail too
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
