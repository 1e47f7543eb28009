package expconf

import (
	"encoding/json"
	"testing"
)

// TestHolds: a storage that a task names is the experiment's when it is the same place, however it is written.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		storage, named string
		same           bool
	}{
		{`{"type":"shared_fs","host_path":"/data","storage_path":"ckpt"}`, `{"type":"shared_fs","host_path":"/data","storage_path":"/data/ckpt/"}`, true},
		{`{"type":"shared_fs","host_path":"/data"}`, `{"type":"shared_fs","host_path":"/data/","propagation":"shared"}`, true},
		{`{"type":"shared_fs","host_path":"/data"}`, `{"type":"shared_fs","host_path":"/data","storage_path":"other"}`, false},
		{`{"type":"shared_fs","host_path":"/data"}`, `{"type":"shared_fs","host_path":"/etc"}`, false},
		{`{"type":"shared_fs","host_path":"/data"}`, `{"type":"directory","container_path":"/data"}`, false},
		{`{"type":"directory","container_path":"/ckpt"}`, `{"type":"directory","container_path":"/ckpt/"}`, true},
		{`{"type":"directory","container_path":"/ckpt"}`, `{"type":"directory","container_path":"/"}`, false},
		{`{"type":"s3","bucket":"b","prefix":"vision/12"}`, `{"type":"s3","bucket":"b","prefix":"/vision/12/","endpoint_url":null}`, true},
		{`{"type":"s3","bucket":"b","prefix":"vision/12"}`, `{"type":"s3","bucket":"b","prefix":"vision/13"}`, false},
		{`{"type":"s3","bucket":"b","prefix":"vision/12"}`, `{"type":"s3","bucket":"other","prefix":"vision/12"}`, false},
		{`{"type":"s3","bucket":"b","prefix":"12","endpoint_url":"http://a"}`, `{"type":"s3","bucket":"b","prefix":"12","endpoint_url":"http://b"}`, false},
		{`{"type":"s3","bucket":"b"}`, `nonsense`, false},
	} {
		var s CheckpointStorage
		var raw struct {
			Type          string  `json:"type"`
			HostPath      string  `json:"host_path"`
			StoragePath   *string `json:"storage_path"`
			ContainerPath *string `json:"container_path"`
			Bucket        string  `json:"bucket"`
			Prefix        *string `json:"prefix"`
			EndpointURL   *string `json:"endpoint_url"`
		}
		if err := json.Unmarshal([]byte(c.storage), &raw); err != nil {
			t.Fatal(err)
		}
		s.Type, s.HostPath, s.StoragePath, s.ContainerPath, s.Bucket, s.Prefix, s.EndpointURL =
			raw.Type, raw.HostPath, raw.StoragePath, raw.ContainerPath, raw.Bucket, raw.Prefix, raw.EndpointURL
		if got := s.Holds([]byte(c.named)); got != c.same {
			t.Errorf("%s is that of %s: %v", c.named, c.storage, got)
		}
	}
}
