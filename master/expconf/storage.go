package expconf

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf/address"
	"github.com/detent-ml/detent/master/optional"
)

// Types of checkpoint storage. HDFS can be parsed but not used.
const (
	SharedFS  = "shared_fs"
	Directory = "directory"
	S3        = "s3"
	GCS       = "gcs"
	Azure     = "azure"
	HDFS      = "hdfs"
)

// CheckpointStorage sets where checkpoints are stored and how many are kept. Only the fields of
// its type have an effect; an empty type means that the storage is unknown.
type CheckpointStorage struct {
	written
	Type               string `json:"type" union:"checkpoint storage" members:"shared_fs directory s3 gcs azure" past:"hdfs"`
	SaveExperimentBest int    `json:"save_experiment_best" check:"at least 0"`
	SaveTrialBest      int    `json:"save_trial_best" default:"1" check:"at least 0"`
	SaveTrialLatest    int    `json:"save_trial_latest" default:"1" check:"at least 0"`

	HostPath    string  `json:"host_path" of:"shared_fs"`
	StoragePath *string `json:"storage_path" of:"shared_fs"` // under HostPath
	Propagation string  `json:"propagation" of:"shared_fs" default:"rprivate"`

	ContainerPath   *string `json:"container_path" of:"shared_fs? directory"` // obsolete for shared_fs, like the next two
	CheckpointPath  *string `json:"checkpoint_path" of:"shared_fs?"`
	TensorboardPath *string `json:"tensorboard_path" of:"shared_fs?"`

	Bucket      string  `json:"bucket" of:"s3 gcs"`
	Prefix      *string `json:"prefix" of:"s3 gcs" check:"prefix"`
	AccessKey   *string `json:"access_key" of:"s3" secret:"true"`
	SecretKey   *string `json:"secret_key" of:"s3" secret:"true"`
	EndpointURL *string `json:"endpoint_url" of:"s3" secret:"query"`

	Container        string  `json:"container" of:"azure"`
	ConnectionString *string `json:"connection_string" of:"azure?" secret:"true"`
	AccountURL       *string `json:"account_url" of:"azure?" secret:"query"`
	Credential       *string `json:"credential" of:"azure?" secret:"true"`

	HDFSURL  *string `json:"hdfs_url" of:"hdfs" secret:"query"`
	HDFSPath *string `json:"hdfs_path" of:"hdfs"`
	User     *string `json:"user" of:"hdfs"`
}

// onto merges like any union, except for credentials, which come from one document only: a key
// of one document with a secret of another would be wrong.
func (s CheckpointStorage) onto(under any) any {
	below := under.(CheckpointStorage)
	if s.ConnectionString != nil || s.AccountURL != nil {
		below.ConnectionString, below.AccountURL, below.Credential = nil, nil, nil
	}
	if s.AccessKey != nil || s.SecretKey != nil {
		below.AccessKey, below.SecretKey = nil, nil
	}
	laySection(valueOf(&s), valueOf(&below))
	return s
}

// SharedFSMount is the path in a task of the host path of shared_fs.
const SharedFSMount = "/determined_shared_fs"

// PathInTask is the directory of the checkpoints, as a task sees it, for the types that are
// directories.
func (s CheckpointStorage) PathInTask() (string, bool) {
	switch s.Type {
	case Directory:
		return optional.Value(s.ContainerPath), true
	case SharedFS:
		return path.Join(SharedFSMount, s.relativeStoragePath()), true
	}
	return "", false
}

// SameFiles reports whether another storage has its files in the same location.
func (s CheckpointStorage) SameFiles(other CheckpointStorage) bool {
	return s.filesAt() == other.filesAt()
}

// filesAt is the location of the files of a storage.
type filesAt struct{ kind, host, path, container, bucket, prefix, endpoint, account string }

func (s CheckpointStorage) filesAt() filesAt {
	bucket, prefix := s.Place()
	return filesAt{s.Type, s.HostPath, optional.Value(s.StoragePath), optional.Value(s.ContainerPath), bucket, prefix, address.Plain(optional.Value(s.EndpointURL)), s.account()}
}

// PathOnHost is the same directory as on the node.
func (s CheckpointStorage) PathOnHost() (string, bool) {
	if s.Type != SharedFS {
		return "", false
	}
	return path.Join(s.HostPath, s.relativeStoragePath()), true
}

func (s CheckpointStorage) relativeStoragePath() string {
	storagePath := optional.Value(s.StoragePath)
	if path.IsAbs(storagePath) {
		return strings.TrimPrefix(path.Clean(storagePath), path.Clean(s.HostPath))
	}
	return storagePath
}

// MarshalJSON encodes only the fields of the storage's type.
func (s CheckpointStorage) MarshalJSON() ([]byte, error) {
	of := sectionOf(reflect.TypeOf(s))
	out := of.stored(reflect.ValueOf(s))
	switch {
	case s.Type != "" && !of.union.knows(s.Type):
		return nil, fmt.Errorf("unknown type of checkpoint storage %q", s.Type)
	case s.Type == "" && s == completed(CheckpointStorage{}):
		return []byte("null"), nil
	case s.Type == "":
		delete(out, "type")
	}
	return json.Marshal(out)
}

func (s CheckpointStorage) check(k *checker, at string) {
	switch s.Type {
	case "":
		k.fail(at+".type", "is required: neither the experiment nor the cluster sets a checkpoint storage",
			"one of "+strings.Join(membersOf[CheckpointStorage](), ", "))
	case SharedFS:
		s.checkSharedFS(k, at)
	case Directory:
		if s.ContainerPath == nil {
			k.fail(at+".container_path", "is required by the type directory", "")
		} else {
			k.absolute(at+".container_path", *s.ContainerPath)
		}
	case S3:
		k.required(at+".bucket", s.Bucket, "by the type s3")
		k.when((s.AccessKey == nil) != (s.SecretKey == nil), at+".access_key", "access_key and secret_key must be given together, or neither", "")
		if u := optional.Value(s.EndpointURL); s.EndpointURL != nil && !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			k.fail(at+".endpoint_url", fmt.Sprintf("must begin with http:// or https://, found %q", document.Clip(u)), "")
		}
	case GCS:
		k.required(at+".bucket", s.Bucket, "by the type gcs")
	case Azure:
		s.checkAzure(k, at)
	case HDFS:
		k.fail(at+".type", "the type hdfs has been removed",
			"mount HDFS on the nodes and use shared_fs, or use s3")
	}
}

func (s CheckpointStorage) checkSharedFS(k *checker, at string) {
	if s.HostPath == "" {
		k.fail(at+".host_path", "is required by the type shared_fs", "")
		return
	}
	k.absolute(at+".host_path", s.HostPath)
	k.propagation(at+".propagation", s.Propagation)
	storagePath := optional.Value(s.StoragePath)
	inside := path.Clean(path.Join("/", s.HostPath, storagePath))
	if path.IsAbs(storagePath) {
		inside = path.Clean(storagePath)
	}
	host := path.Clean(s.HostPath)
	if inside != host && !strings.HasPrefix(inside, strings.TrimSuffix(host, "/")+"/") {
		k.fail(at+".storage_path", fmt.Sprintf("must lie inside host_path %s, found %q", document.Clip(host), document.Clip(storagePath)),
			"use a relative path")
	}
}

func (s CheckpointStorage) checkAzure(k *checker, at string) {
	k.required(at+".container", s.Container, "by the type azure")
	switch {
	case s.ConnectionString == nil && s.AccountURL == nil:
		k.fail(at+".connection_string", "is required by the type azure", "set either connection_string or account_url")
	case s.ConnectionString != nil && s.AccountURL != nil:
		k.fail(at+".account_url", "cannot be given together with connection_string", "keep one")
	case s.ConnectionString != nil && s.Credential != nil:
		k.fail(at+".credential", "cannot be given together with connection_string", "a connection string contains its own credential")
	}
}

// ParseStorage parses the section checkpoint_storage outside of a configuration.
func ParseStorage(m map[string]any) (CheckpointStorage, error) {
	b, err := json.Marshal(map[string]any{"checkpoint_storage": m})
	if err != nil {
		return CheckpointStorage{}, err
	}
	raw, _, err := Parse("", b)
	return raw.CheckpointStorage, err
}
