package expconf

import (
	"encoding/json"
	"testing"

	"github.com/detent-ml/detent/master/expconf/address"
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
		{`{"type":"s3","bucket":"b","endpoint_url":"http://u:x@a/?key=x"}`, `{"type":"s3","bucket":"b","endpoint_url":"http://a"}`, true},
		{`{"type":"s3","bucket":"b","endpoint_url":"http://u:x@a"}`, `{"type":"s3","bucket":"b","endpoint_url":"http://u:x@b"}`, false},
		{`{"type":"s3","bucket":"b"}`, `nonsense`, false},
		{`{"type":"gcs","bucket":"b","prefix":"vision/12"}`, `{"type":"gcs","bucket":"b","prefix":"/vision//12/"}`, true},
		{`{"type":"gcs","bucket":"b"}`, `{"type":"gcs","bucket":"b","prefix":"x"}`, false},
		{`{"type":"gcs","bucket":"b"}`, `{"type":"s3","bucket":"b"}`, false},
		{`{"type":"azure","container":"c","connection_string":"AccountName=Lab;AccountKey=x"}`, `{"type":"azure","container":"c/","account_url":"https://lab.blob.core.windows.net/"}`, true},
		{`{"type":"azure","container":"c","account_url":"https://lab.example?sig=x"}`, `{"type":"azure","container":"c","account_url":"https://lab.example"}`, true},
		{`{"type":"azure","container":"c","account_url":"https://lab.example"}`, `{"type":"azure","container":"c","connection_string":"AccountName=lab;BlobEndpoint=https://lab.example/"}`, true},
		{`{"type":"azure","container":"c","account_url":"https://lab.example"}`, `{"type":"azure","container":"c","account_url":"https://other.example"}`, false},
		{`{"type":"azure","container":"c/a","account_url":"https://lab.example"}`, `{"type":"azure","container":"c/b","account_url":"https://lab.example"}`, false},
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
			Container     string  `json:"container"`
			AccountURL    *string `json:"account_url"`
			Connection    *string `json:"connection_string"`
		}
		if err := json.Unmarshal([]byte(c.storage), &raw); err != nil {
			t.Fatal(err)
		}
		s.Type, s.HostPath, s.StoragePath, s.ContainerPath, s.Bucket, s.Prefix, s.EndpointURL =
			raw.Type, raw.HostPath, raw.StoragePath, raw.ContainerPath, raw.Bucket, raw.Prefix, raw.EndpointURL
		s.Container, s.AccountURL, s.ConnectionString = raw.Container, raw.AccountURL, raw.Connection
		if got := s.Holds([]byte(c.named)); got != c.same {
			t.Errorf("%s is that of %s: %v", c.named, c.storage, got)
		}
	}
}

// TestWithoutKeys: what others see of a storage has its location, and no credential in any of its fields.
func TestWithoutKeys(t *testing.T) {
	for given, want := range map[string]string{
		`{"type":"s3","bucket":"b","prefix":"p","access_key":"SECRET","secret_key":"SECRET"}`:                  `{"bucket":"b","prefix":"p","type":"s3"}`,
		`{"type":"s3","bucket":"b","endpoint_url":"https://h:9000/p"}`:                                         `{"bucket":"b","endpoint_url":"https://h:9000/p","type":"s3"}`,
		`{"type":"s3","bucket":"b","endpoint_url":"https://h:9000/p?key=SECRET"}`:                              `{"bucket":"b","endpoint_url":"https://h:9000/p","type":"s3"}`,
		`{"type":"s3","bucket":"b","endpoint_url":"https://u:SECRET@h:9000/p"}`:                                `{"bucket":"b","endpoint_url":"https://h:9000/p","type":"s3"}`,
		`{"type":"s3","bucket":"b","endpoint_url":"https://u:SEC@RET@h/p#SECRET?x"}`:                           `{"bucket":"b","endpoint_url":"https://h/p","type":"s3"}`,
		`{"type":"s3","bucket":"b","endpoint_url":"https://u:SECRET/1@h/p?key=https://SECRET@x"}`:              `{"bucket":"b","endpoint_url":"https://h/p","type":"s3"}`,
		`{"type":"s3","bucket":"b","endpoint_url":null}`:                                                       `{"bucket":"b","type":"s3"}`,
		`{"type":"azure","container":"c","account_url":"https://SECRET@a.example/?sig=SECRET"}`:                `{"account_url":"https://a.example/","container":"c","type":"azure"}`,
		`{"type":"azure","container":"c","account_url":"SECRET@a.example?sig=SECRET","credential":"SECRET"}`:   `{"account_url":"a.example","container":"c","type":"azure"}`,
		`{"type":"azure","container":"c","connection_string":"AccountName=a;AccountKey=SECRET"}`:               `{"account_url":"https://a.blob.core.windows.net","container":"c","type":"azure"}`,
		`{"type":"azure","container":"c","connection_string":"BlobEndpoint=https://SECRET@a.example/?SECRET"}`: `{"account_url":"https://a.example","container":"c","type":"azure"}`,
	} {
		var storage map[string]any
		if err := json.Unmarshal([]byte(given), &storage); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(address.WithoutKeys(storage)); err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", given, got, err, want)
		}
	}
}
