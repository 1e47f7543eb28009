package server

import (
	"testing"

	"github.com/detent-ml/detent/master/store"
)

// TestCredentialsForASource: an attempt that keeps its own checkpoints in a folder
// gets credentials all the same, where it starts from one in S3.
func TestCredentialsForASource(t *testing.T) {
	m := configured(t, vaulted)
	warm, trial := "0190b5a5-0000-4000-8000-000000000001", 1
	s := store.ToSubmit{TrialID: &trial, Config: stored(t, "{type: shared_fs, host_path: /x}")}
	if c, err := m.credentials(s); err != nil || c != nil {
		t.Errorf("without a source: %+v, %v", c, err)
	}
	s.WarmStart, s.WarmConfig = &warm, stored(t, "{type: s3, bucket: b, prefix: '1'}")
	if c, err := m.credentials(s); err != nil || c == nil || c.Role != "det-task" {
		t.Errorf("with one in S3: %+v, %v", c, err)
	}
	s.WarmConfig = stored(t, "{type: s3, bucket: b, prefix: '1', access_key: a, secret_key: s}")
	if c, err := m.credentials(s); err != nil || c != nil {
		t.Errorf("with one that has keys: %+v, %v", c, err)
	}
	s.WarmConfig = []byte("{")
	if _, err := m.credentials(s); err == nil {
		t.Error("a source that cannot be read")
	}
}
