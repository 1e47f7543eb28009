// Package objecttest starts object stores for tests: SeaweedFS for S3, and emulators of Google's and
// Azure's stores. It skips a test if its store is not installed.
package objecttest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/nodeprog"
)

// within is the time limit for the start of a store on a busy machine.
const within = 2 * time.Minute

// try is the time limit for one look at whether it has started.
const try = 10 * time.Second

// S3 is an S3-compatible store.
type S3 struct{ URL, AccessKey, SecretKey string }

// StartS3 starts SeaweedFS with a user who has all rights. It has no bucket.
func StartS3(t testing.TB) S3 {
	t.Helper()
	weed := found(t, "weed")
	dir := t.TempDir()
	s := S3{AccessKey: "AKIATESTTESTTEST", SecretKey: "secret-of-the-test"}
	users, err := json.Marshal(map[string]any{"identities": []any{map[string]any{"name": "test", "actions": []string{"Admin", "Read", "Write", "List"},
		"credentials": []map[string]string{{"accessKey": s.AccessKey, "secretKey": s.SecretKey}}}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "s3.json"), users, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"server", "-dir=" + dir, "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-master.volumeSizeLimitMB=64",
		"-master.electionTimeout=1s", "-volume.max=0", "-volume.preStopSeconds=0", "-filer", "-filer.localSocket=" + filepath.Join(dir, "filer.sock"),
		"-s3", "-s3.localSocket=" + filepath.Join(dir, "s3.sock"), "-s3.port.iceberg=0", "-s3.config=" + filepath.Join(dir, "s3.json")}
	master := ""
	for _, part := range []string{"master", "volume", "filer", "s3"} {
		at := port(t)
		switch part {
		case "master":
			master = address(at)
		case "s3":
			s.URL = address(at)
		}
		args = append(args, fmt.Sprintf("-%s.port=%d", part, at), fmt.Sprintf("-%s.port.grpc=%d", part, port(t)))
	}
	start(t, dir, nil, func(ctx context.Context) error {
		if err := answers(s.URL + "/status")(ctx); err != nil {
			return err
		}
		return servers.WeedReady(ctx, master)
	}, weed, args...)
	return s
}

// StartGCS starts an emulator of Google Cloud Storage with one bucket, and returns its address.
func StartGCS(t testing.TB, bucket string) string {
	t.Helper()
	server := found(t, "fake-gcs-server")
	at := port(t)
	url := address(at)
	start(t, t.TempDir(), nil, answers(url+"/storage/v1/b?project=test"), server, "-scheme=http", "-host=127.0.0.1", "-port="+strconv.Itoa(at),
		"-backend=memory", "-external-url="+url, "-public-host="+strings.TrimPrefix(url, "http://"))
	Post(t, url+"/storage/v1/b?project=test", "application/json", fmt.Sprintf(`{"name":%q}`, bucket))
	return url
}

// Azure is an account of an emulator.
type Azure struct{ URL, Account, Key string }

// ConnectionString has the credentials of the account.
func (a Azure) ConnectionString() string {
	return fmt.Sprintf("AccountName=%s;AccountKey=%s;BlobEndpoint=%s", a.Account, a.Key, a.URL)
}

// StartAzure starts an emulator of Azure's Blob Storage. It has no container.
func StartAzure(t testing.TB) Azure {
	t.Helper()
	script, there, err := nodeprog.Azurite.Find()
	if err != nil {
		t.Fatal(err)
	}
	if !there {
		t.Skip("Azurite is not installed, or Node is missing; run just emulators")
	}
	at, dir := port(t), t.TempDir()
	a := Azure{Account: "tests", Key: base64.StdEncoding.EncodeToString([]byte("the key of the tests"))}
	a.URL = address(at) + "/" + a.Account
	start(t, dir, []string{"AZURITE_ACCOUNTS=" + a.Account + ":" + a.Key}, answers(a.URL), "node", script, "--blobHost", "127.0.0.1", "--blobPort", strconv.Itoa(at),
		"--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry")
	return a
}

// Post sends a request that a store must accept.
func Post(t testing.TB, url, kind, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s: %s", url, resp.Status, said)
	}
}

func found(t testing.TB, name string) string {
	t.Helper()
	binary, there, err := servers.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if !there {
		t.Skipf("%s is not built; run just test-servers", name)
	}
	return binary.Path
}

func port(t testing.TB) int {
	t.Helper()
	n, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func address(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// start runs a store until the test ends, and waits until it is ready.
func start(t testing.TB, dir string, env []string, ready func(context.Context) error, program string, args ...string) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its data is removed too
		<-ended
	})
	late := time.After(within)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), try)
		err := ready(ctx)
		if cancel(); err == nil {
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, said.String())
		case <-late:
			t.Fatalf("%s is not ready within %s: %v", program, within, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// answers is whether something answers at an address.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
}
