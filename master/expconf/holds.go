package expconf

import (
	"encoding/json"
	"path"
	"strings"
)

// Holds says whether a storage that a task has named is this one: the same location,
// whatever else the two say about it.
func (s CheckpointStorage) Holds(named json.RawMessage) bool {
	var n struct {
		Type          string  `json:"type"`
		HostPath      string  `json:"host_path"`
		StoragePath   *string `json:"storage_path"`
		ContainerPath *string `json:"container_path"`
		Bucket        string  `json:"bucket"`
		Prefix        *string `json:"prefix"`
		EndpointURL   *string `json:"endpoint_url"`
	}
	if json.Unmarshal(named, &n) != nil || n.Type != s.Type {
		return false
	}
	other := CheckpointStorage{Type: n.Type, HostPath: n.HostPath, StoragePath: n.StoragePath, ContainerPath: n.ContainerPath}
	switch s.Type {
	case SharedFS:
		mine, _ := s.PathOnHost()
		theirs, _ := other.PathOnHost()
		return path.Clean(mine) == path.Clean(theirs)
	case Directory:
		return path.Clean(first("", s.ContainerPath)) == path.Clean(first("", n.ContainerPath))
	case S3:
		trim := func(p *string) string { return strings.Trim(first("", p), "/") }
		return s.Bucket == n.Bucket && trim(s.Prefix) == trim(n.Prefix) && trim(s.EndpointURL) == trim(n.EndpointURL)
	}
	return false
}
