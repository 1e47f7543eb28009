package credentials_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/plugins/runner/credentials"
)

// write puts a file there as Nomad does, as of a time.
func write(t *testing.T, path, content string, at time.Time) {
	t.Helper()
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(fresh, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}

const keys = `{"Version": 1, "AccessKeyId": "ASIAONE", "SecretAccessKey": "s/1+=", "SessionToken": "t.o.k", "LeaseSeconds": 900}`

func TestKeysThatAreGood(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s3.json")
	written := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	write(t, file, keys, written)
	var out bytes.Buffer
	if err := credentials.Print(t.Context(), file, &out, func() time.Time { return written.Add(time.Minute) }); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"Version": 1.0, "AccessKeyId": "ASIAONE", "SecretAccessKey": "s/1+=", "SessionToken": "t.o.k",
		"Expiration": "2026-11-21T10:15:00Z"} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("more than a credential_process gives: %v", got)
	}
}

// TestWaitsForNewKeys: keys that have ended are never issued; new ones are, as soon as they are there.
func TestWaitsForNewKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s3.json")
	now := time.Now()
	write(t, file, keys, now.Add(-time.Hour))
	asked := make(chan struct{}, 100)
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		done <- credentials.Print(t.Context(), file, &out, func() time.Time { asked <- struct{}{}; return now })
	}()
	<-asked
	<-asked // it has looked, and looked again
	select {
	case err := <-done:
		t.Fatalf("keys that had ended were given out: %s, %v", out.String(), err)
	default:
	}
	write(t, file, strings.Replace(keys, "ONE", "TWO", 1), now)
	if err := <-done; err != nil || !strings.Contains(out.String(), "ASIATWO") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

func TestSaysWhyThereAreNone(t *testing.T) {
	dir := t.TempDir()
	ended := filepath.Join(dir, "ended")
	write(t, ended, keys, time.Now().Add(-time.Hour))
	empty := filepath.Join(dir, "empty")
	write(t, empty, `{}`, time.Now())
	half := filepath.Join(dir, "half")
	write(t, half, `{"AccessKeyId`, time.Now())
	for file, want := range map[string]string{ended: "expired at", empty: "contains no keys", half: "unexpected EOF", filepath.Join(dir, "none"): "no such file"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := credentials.Print(ctx, file, &bytes.Buffer{}, time.Now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s/1") {
			t.Errorf("a key in an error: %v", err)
		}
	}
}
