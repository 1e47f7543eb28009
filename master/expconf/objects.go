package expconf

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/expconf/address"
	"github.com/detent-ml/detent/master/optional"
)

// IsObjects reports whether a storage is an object storage, which cannot be mounted.
func (s CheckpointStorage) IsObjects() bool {
	return s.Type == S3 || s.Type == GCS || s.Type == Azure
}

// Place returns the bucket of an object storage and the prefix below which the files lie,
// without slashes at its ends. For Azure the bucket is the container; as in Determined's
// package, a prefix may follow its name.
func (s CheckpointStorage) Place() (bucket, prefix string) {
	if s.Type == Azure {
		bucket, prefix, _ = strings.Cut(strings.Trim(s.Container, "/"), "/")
		return bucket, prefix
	}
	return s.Bucket, strings.Trim(path.Clean("/"+optional.Value(s.Prefix)), "/")
}

// HasKeys reports whether the section of a storage contains credentials.
func (s CheckpointStorage) HasKeys() bool {
	return s.AccessKey != nil || s.ConnectionString != nil || s.Credential != nil || strings.Contains(optional.Value(s.AccountURL), "?")
}

// secrets are what may be a credential: keys, and addresses with more than address.Plain leaves.
func (s CheckpointStorage) secrets() [6]string {
	secret := func(p *string) string {
		if text := optional.Value(p); text != address.Plain(text) {
			return text
		}
		return ""
	}
	return [6]string{optional.Value(s.AccessKey), optional.Value(s.SecretKey), optional.Value(s.ConnectionString), optional.Value(s.Credential), secret(s.AccountURL), secret(s.EndpointURL)}
}

// HasSecrets reports whether a storage contains what may be a credential, HasKeys or not.
func (s CheckpointStorage) HasSecrets() bool { return s.secrets() != [6]string{} }

// SameSecrets reports whether two storages contain the same ones.
func (s CheckpointStorage) SameSecrets(other CheckpointStorage) bool {
	return s.secrets() == other.secrets()
}

// SignedLike copies the credentials of one storage into another, if both use the same account
// of Azure; otherwise it changes nothing.
func SignedLike(storage map[string]any, from, keyed CheckpointStorage) map[string]any {
	if from.Type != Azure || keyed.Type != Azure || !keyed.HasKeys() || from.account() != keyed.account() {
		return storage
	}
	out := address.WithoutKeys(storage)
	delete(out, "account_url")
	for name, value := range map[string]*string{"connection_string": keyed.ConnectionString, "account_url": keyed.AccountURL, "credential": keyed.Credential} {
		if value != nil {
			out[name] = *value
		}
	}
	return out
}

// account is the address of the Azure storage account, without credentials.
func (s CheckpointStorage) account() string {
	return address.Account(optional.Value(s.AccountURL), optional.Value(s.ConnectionString))
}

// Holds reports whether a storage that a task has named has the same location as this one.
// Other fields may differ.
func (s CheckpointStorage) Holds(named json.RawMessage) bool {
	var n struct {
		Type          string  `json:"type"`
		HostPath      string  `json:"host_path"`
		StoragePath   *string `json:"storage_path"`
		ContainerPath *string `json:"container_path"`
		Bucket        string  `json:"bucket"`
		Prefix        *string `json:"prefix"`
		EndpointURL   *string `json:"endpoint_url"`
		Container     string  `json:"container"`
		AccountURL    *string `json:"account_url"`
		Connection    *string `json:"connection_string"`
	}
	if json.Unmarshal(named, &n) != nil || n.Type != s.Type {
		return false
	}
	other := CheckpointStorage{Type: n.Type, HostPath: n.HostPath, StoragePath: n.StoragePath, ContainerPath: n.ContainerPath,
		Bucket: n.Bucket, Prefix: n.Prefix, Container: n.Container, AccountURL: n.AccountURL, ConnectionString: n.Connection}
	switch s.Type {
	case SharedFS:
		mine, _ := s.PathOnHost()
		theirs, _ := other.PathOnHost()
		return path.Clean(mine) == path.Clean(theirs)
	case Directory:
		return path.Clean(optional.Value(s.ContainerPath)) == path.Clean(optional.Value(n.ContainerPath))
	case S3, GCS, Azure:
		bucket, prefix := s.Place()
		theirs, below := other.Place()
		trim := func(p *string) string { return strings.Trim(address.Plain(optional.Value(p)), "/") }
		return bucket == theirs && prefix == below && trim(s.EndpointURL) == trim(n.EndpointURL) && s.account() == other.account()
	}
	return false
}
