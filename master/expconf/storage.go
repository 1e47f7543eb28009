package expconf

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
)

// Types of checkpoint storage. HDFS can be read but not used.
const (
	SharedFS  = "shared_fs"
	Directory = "directory"
	S3        = "s3"
	GCS       = "gcs"
	Azure     = "azure"
	HDFS      = "hdfs"
)

func storages() union {
	return union{
		noun: "checkpoint storage", key: "type",
		common: []string{"save_experiment_best", "save_trial_best", "save_trial_latest"},
		members: []member{
			{name: SharedFS, fields: []string{"host_path", "storage_path", "propagation",
				"container_path", "checkpoint_path", "tensorboard_path"}},
			{name: Directory, fields: []string{"container_path"}},
			{name: S3, fields: []string{"bucket", "access_key", "secret_key", "endpoint_url", "prefix"}},
			{name: GCS, fields: []string{"bucket", "prefix"}},
			{name: Azure, fields: []string{"container", "connection_string", "account_url", "credential"}},
			{name: HDFS, past: true, fields: []string{"hdfs_url", "hdfs_path", "user"}},
		},
	}
}

// RawCheckpointStorage is checkpoint_storage as written, with the fields of all
// types.
type RawCheckpointStorage struct {
	Type               *string `json:"type"`
	SaveExperimentBest *int    `json:"save_experiment_best"`
	SaveTrialBest      *int    `json:"save_trial_best"`
	SaveTrialLatest    *int    `json:"save_trial_latest"`

	AccessKey        *string `json:"access_key"`
	AccountURL       *string `json:"account_url"`
	Bucket           *string `json:"bucket"`
	CheckpointPath   *string `json:"checkpoint_path"`
	ConnectionString *string `json:"connection_string"`
	Container        *string `json:"container"`
	ContainerPath    *string `json:"container_path"`
	Credential       *string `json:"credential"`
	EndpointURL      *string `json:"endpoint_url"`
	HDFSPath         *string `json:"hdfs_path"`
	HDFSURL          *string `json:"hdfs_url"`
	HostPath         *string `json:"host_path"`
	Prefix           *string `json:"prefix"`
	Propagation      *string `json:"propagation"`
	SecretKey        *string `json:"secret_key"`
	StoragePath      *string `json:"storage_path"`
	TensorboardPath  *string `json:"tensorboard_path"`
	User             *string `json:"user"`

	sealed bool
}

func (s *RawCheckpointStorage) decode(d *decoder, n *node, path string) {
	storages().decode(d, n, path, reflect.ValueOf(s).Elem())
}

// onto merges like any union, but that the ways to sign in to a storage are
// taken from one document whole: a key of one with a secret of another opens
// nothing.
func (s RawCheckpointStorage) onto(under any) any {
	below := under.(RawCheckpointStorage)
	if s.ConnectionString != nil || s.AccountURL != nil {
		below.ConnectionString, below.AccountURL, below.Credential = nil, nil, nil
	}
	if s.AccessKey != nil || s.SecretKey != nil {
		below.AccessKey, below.SecretKey = nil, nil
	}
	merged, seal := ontoUnion(storages(), reflect.ValueOf(s), reflect.ValueOf(below), s.sealed)
	out := merged.Interface().(RawCheckpointStorage)
	out.sealed = s.sealed || seal || below.sealed
	return out
}

// CheckpointStorage is where checkpoints go and how many are kept. Only the
// fields of the named type mean something; an empty type means none is known.
type CheckpointStorage struct {
	Type               string
	SaveExperimentBest int
	SaveTrialBest      int
	SaveTrialLatest    int

	HostPath    string  // shared_fs
	StoragePath *string // shared_fs: under HostPath
	Propagation string  // shared_fs

	ContainerPath   *string // directory; of shared_fs a relic, like the next two
	CheckpointPath  *string
	TensorboardPath *string

	Bucket      string  // s3, gcs
	Prefix      *string // s3, gcs
	AccessKey   *string // s3
	SecretKey   *string // s3
	EndpointURL *string // s3

	Container        string  // azure
	ConnectionString *string // azure
	AccountURL       *string // azure
	Credential       *string // azure

	HDFSURL  *string
	HDFSPath *string
	User     *string
}

// SharedFSMount is where a task sees the host path of shared_fs.
const SharedFSMount = "/determined_shared_fs"

// PathInTask is the directory that holds the checkpoints, as a task sees it,
// for the types that are directories.
func (s CheckpointStorage) PathInTask() (string, bool) {
	switch s.Type {
	case Directory:
		return first("", s.ContainerPath), true
	case SharedFS:
		return path.Join(SharedFSMount, s.relativeStoragePath()), true
	}
	return "", false
}

// SameFiles tells whether another storage has its files where this one has.
func (s CheckpointStorage) SameFiles(other CheckpointStorage) bool {
	return s.filesAt() == other.filesAt()
}

// filesAt is where a storage has its files.
type filesAt struct{ kind, host, path, container, bucket, prefix, endpoint, account string }

func (s CheckpointStorage) filesAt() filesAt {
	return filesAt{s.Type, s.HostPath, first("", s.StoragePath), first("", s.ContainerPath) + s.Container, s.Bucket,
		first("", s.Prefix), first("", s.EndpointURL), first("", s.AccountURL)}
}

// PathOnHost is the same directory as the node sees it.
func (s CheckpointStorage) PathOnHost() (string, bool) {
	if s.Type != SharedFS {
		return "", false
	}
	return path.Join(s.HostPath, s.relativeStoragePath()), true
}

func (s CheckpointStorage) relativeStoragePath() string {
	storagePath := first("", s.StoragePath)
	if path.IsAbs(storagePath) {
		return strings.TrimPrefix(path.Clean(storagePath), path.Clean(s.HostPath))
	}
	return storagePath
}

func (s *RawCheckpointStorage) complete() CheckpointStorage {
	if s == nil {
		s = &RawCheckpointStorage{}
	}
	return CheckpointStorage{
		Type:               first("", s.Type),
		SaveExperimentBest: first(0, s.SaveExperimentBest),
		SaveTrialBest:      first(1, s.SaveTrialBest),
		SaveTrialLatest:    first(1, s.SaveTrialLatest),
		HostPath:           first("", s.HostPath),
		StoragePath:        s.StoragePath,
		Propagation:        first("rprivate", s.Propagation),
		ContainerPath:      s.ContainerPath,
		CheckpointPath:     s.CheckpointPath,
		TensorboardPath:    s.TensorboardPath,
		Bucket:             first("", s.Bucket),
		Prefix:             s.Prefix,
		AccessKey:          s.AccessKey,
		SecretKey:          s.SecretKey,
		EndpointURL:        s.EndpointURL,
		Container:          first("", s.Container),
		ConnectionString:   s.ConnectionString,
		AccountURL:         s.AccountURL,
		Credential:         s.Credential,
		HDFSURL:            s.HDFSURL,
		HDFSPath:           s.HDFSPath,
		User:               s.User,
	}
}

// MarshalJSON writes the fields of the named type and no others.
func (s CheckpointStorage) MarshalJSON() ([]byte, error) {
	out := map[string]any{
		"type":                 s.Type,
		"save_experiment_best": s.SaveExperimentBest,
		"save_trial_best":      s.SaveTrialBest,
		"save_trial_latest":    s.SaveTrialLatest,
	}
	optional := map[string]*string{}
	switch s.Type {
	case "":
		if s == (*RawCheckpointStorage)(nil).complete() {
			return []byte("null"), nil
		}
		delete(out, "type")
	case SharedFS:
		out["host_path"], out["storage_path"], out["propagation"] = s.HostPath, s.StoragePath, s.Propagation
		optional = map[string]*string{"container_path": s.ContainerPath,
			"checkpoint_path": s.CheckpointPath, "tensorboard_path": s.TensorboardPath}
	case Directory:
		out["container_path"] = s.ContainerPath
	case S3:
		out["bucket"], out["prefix"], out["endpoint_url"] = s.Bucket, s.Prefix, s.EndpointURL
		out["access_key"], out["secret_key"] = s.AccessKey, s.SecretKey
	case GCS:
		out["bucket"], out["prefix"] = s.Bucket, s.Prefix
	case Azure:
		out["container"] = s.Container
		optional = map[string]*string{"connection_string": s.ConnectionString,
			"account_url": s.AccountURL, "credential": s.Credential}
	case HDFS:
		out["hdfs_url"], out["hdfs_path"], out["user"] = s.HDFSURL, s.HDFSPath, s.User
	default:
		return nil, fmt.Errorf("unknown type of checkpoint storage %q", s.Type)
	}
	for name, value := range optional {
		if value != nil {
			out[name] = value
		}
	}
	return json.Marshal(out)
}

func (s CheckpointStorage) check(k *checker) {
	const at = "checkpoint_storage"
	k.atLeast(at+".save_experiment_best", s.SaveExperimentBest, 0)
	k.atLeast(at+".save_trial_best", s.SaveTrialBest, 0)
	k.atLeast(at+".save_trial_latest", s.SaveTrialLatest, 0)
	switch s.Type {
	case "":
		k.fail(at+".type", "is required: neither the experiment nor the cluster sets a checkpoint storage",
			"one of "+strings.Join(storages().names(), ", "))
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
		k.prefix(at+".prefix", s.Prefix)
		if (s.AccessKey == nil) != (s.SecretKey == nil) {
			k.fail(at+".access_key", "access_key and secret_key must be given together, or neither", "")
		}
		if u := first("", s.EndpointURL); s.EndpointURL != nil && !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			k.fail(at+".endpoint_url", fmt.Sprintf("must begin with http:// or https://, found %q", clip(u)), "")
		}
	case GCS:
		k.required(at+".bucket", s.Bucket, "by the type gcs")
		k.prefix(at+".prefix", s.Prefix)
	case Azure:
		s.checkAzure(k, at)
	case HDFS:
		k.fail(at+".type", "the type hdfs has been removed",
			"mount it on the nodes and use shared_fs, or use s3")
	}
}

func (s CheckpointStorage) checkSharedFS(k *checker, at string) {
	if s.HostPath == "" {
		k.fail(at+".host_path", "is required by the type shared_fs", "")
		return
	}
	k.absolute(at+".host_path", s.HostPath)
	k.propagation(at+".propagation", s.Propagation)
	storagePath := first("", s.StoragePath)
	inside := path.Clean(path.Join("/", s.HostPath, storagePath))
	if path.IsAbs(storagePath) {
		inside = path.Clean(storagePath)
	}
	host := path.Clean(s.HostPath)
	if inside != host && !strings.HasPrefix(inside, strings.TrimSuffix(host, "/")+"/") {
		k.fail(at+".storage_path", fmt.Sprintf("must lie inside host_path %s, found %q", clip(host), clip(storagePath)),
			"give a relative path")
	}
}

func (s CheckpointStorage) checkAzure(k *checker, at string) {
	k.required(at+".container", s.Container, "by the type azure")
	switch {
	case s.ConnectionString == nil && s.AccountURL == nil:
		k.fail(at+".connection_string", "is required by the type azure", "give either connection_string or account_url")
	case s.ConnectionString != nil && s.AccountURL != nil:
		k.fail(at+".account_url", "cannot be given together with connection_string", "keep one")
	case s.ConnectionString != nil && s.Credential != nil:
		k.fail(at+".credential", "cannot be given together with connection_string", "a connection string contains its own credential")
	}
}
