// Package credentials gives a program the keys of S3 that are good now.
//
// Nomad keeps them in a file of the task, which it writes anew before they end.
// Programs do not read such a file again by themselves, so they are told to ask
// `det-runner credentials FILE`, by way of AWS's credential_process: each time that
// the keys which they have come to their end they ask, and get what the file holds
// then. A training of any length goes on like that. While Vault is away there may
// be no keys that are good; then the answer waits, and the program with it.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Verb is det-runner's word for it.
const Verb = "credentials"

const (
	// Patience is how long an answer waits for keys that are good.
	Patience = 15 * time.Minute
	poll     = 200 * time.Millisecond
	// spare is what must be left of a life, so that a request can still use it.
	spare = 2 * time.Second
)

// kept is the file, as the job's template writes it. Its keys live as long from
// the time on at which it was written.
type kept struct {
	Version         int
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	LeaseSeconds    int64
}

// answer is what credential_process gives out.
type answer struct {
	Version         int
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      string
}

// Print writes the keys to w as soon as there are good ones.
func Print(ctx context.Context, file string, w io.Writer, now func() time.Time) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		a, err := read(file, now())
		if err == nil {
			return json.NewEncoder(w).Encode(a)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no credentials for checkpoints: %w", err)
		case <-tick.C:
		}
	}
}

// read gives the keys in a file, if they are good for a while.
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
		return answer{}, errors.New(file + " holds no keys")
	}
	end := info.ModTime().Add(time.Duration(k.LeaseSeconds) * time.Second)
	if !now.Add(spare).Before(end) {
		return answer{}, fmt.Errorf("the credentials in %s expired at %s, and Nomad has not fetched new ones from Vault", file, end.UTC().Format(time.RFC3339))
	}
	return answer{Version: 1, AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey, SessionToken: k.SessionToken,
		Expiration: end.UTC().Format(time.RFC3339)}, nil
}
