package expconf

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/optional"
)

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
		trim := func(p *string) string { return strings.Trim(PlainAddress(optional.Value(p)), "/") }
		return bucket == theirs && prefix == below && trim(s.EndpointURL) == trim(n.EndpointURL) && s.account() == other.account()
	}
	return false
}
