// Package credentials gives S3 clients their current keys.
//
// Nomad writes the keys to a file of the task, and replaces the file before they expire.
// Programs do not read such a file again by themselves, so AWS's credential_process tells them
// to call `det-runner credentials FILE` whenever their keys expire. So a training may take any
// time. While Vault does not answer there may be no valid keys; then the call waits, and the
// program with it.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/detent-ml/detent/master/sleep"
)

// Verb is the argument of det-runner.
const Verb = "credentials"

const (
	// Patience is how long a call waits for valid keys.
	Patience = 15 * time.Minute
	poll     = 200 * time.Millisecond
	// spare is the remaining lifetime that keys must have, so that a request can use them.
	spare = 2 * time.Second
)

// kept is the file, as the job's template writes it. The lifetime of its keys begins when the
// file is written.
type kept struct {
	Version         int
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	LeaseSeconds    int64
}

// answer is the output of credential_process.
type answer struct {
	Version         int
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      string
}

// Print writes the keys to w as soon as they are valid.
func Print(ctx context.Context, file string, w io.Writer, now func() time.Time) error {
	for {
		a, err := read(file, now())
		if err == nil {
			return json.NewEncoder(w).Encode(a)
		}
		if sleep.For(ctx, poll) != nil {
			return fmt.Errorf("no credentials for checkpoints: %w", err)
		}
	}
}

// read returns the keys in a file, if they remain valid for a while.
func read(file string, now time.Time) (answer, error) {
	f, err := os.Open(file)
	if err != nil {
		return answer{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return answer{}, err
	}
	var k kept
	if err := json.NewDecoder(f).Decode(&k); err != nil {
		return answer{}, fmt.Errorf("%s: %w", file, err)
	}
	if k.AccessKeyID == "" || k.SecretAccessKey == "" {
		return answer{}, errors.New(file + " contains no keys")
	}
	end := info.ModTime().Add(time.Duration(k.LeaseSeconds) * time.Second)
	if !now.Add(spare).Before(end) {
		return answer{}, fmt.Errorf("the credentials in %s expired at %s, and Nomad has not fetched new ones from Vault", file, end.UTC().Format(time.RFC3339))
	}
	return answer{Version: 1, AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey, SessionToken: k.SessionToken,
		Expiration: end.UTC().Format(time.RFC3339)}, nil
}
