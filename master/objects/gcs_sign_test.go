package objects

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// googlesLibrary signs the same addresses with Google's own library.
const googlesLibrary = `
import json, sys, urllib.parse
from google.cloud.storage._signing import generate_signed_url_v4
from google.oauth2 import service_account
account, asked = json.load(sys.stdin)
signer = service_account.Credentials.from_service_account_info(account)
for method, bucket, key in asked:
    resource = "/" + bucket + "/" + urllib.parse.quote(key, safe="/~")
    print(generate_signed_url_v4(signer, resource, 43200, api_access_endpoint="https://storage.googleapis.com", method=method, _request_timestamp="20261130T231500Z"))
`

// TestAddressesOfGoogle: addresses are signed as Google's library signs them. Its emulator checks no signature.
func TestAddressesOfGoogle(t *testing.T) {
	python, err := pyenv.Named(t.Context(), "harness", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	account := objecttest.GoogleAccount(t)
	signer := googleSignerOf(account)
	if signer == nil {
		t.Fatal("the account has no signer")
	}
	asked := [][3]string{{"GET", "bucket", "p/1/a"}, {"PUT", "a.bucket-1", "p/1/a b+c%20d&e=f/ü#?~.txt.detent-upload-x/00001"}, {"PUT", "bucket", "$!'()*,;:@[]"}}
	said, err := json.Marshal([]any{json.RawMessage(account), asked})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", googlesLibrary)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(said), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(out))
	if len(want) != len(asked) {
		t.Fatalf("%d addresses: %s", len(want), out)
	}
	now := time.Date(2026, 11, 30, 23, 15, 0, 0, time.UTC)
	for i, a := range asked {
		got, err := signer.address(a[0], gcsHost, a[1], a[2], now, 12*time.Hour)
		if err != nil || got != want[i] {
			t.Errorf("%q: %v\n     %s\nwant %s", a, err, got, want[i])
		}
	}
	for _, other := range []string{`{"type": "authorized_user", "client_id": "x", "client_secret": "y", "refresh_token": "z"}`, `{"type": "service_account", "client_email": "x", "private_key": "y"}`, `{}`} {
		if googleSignerOf([]byte(other)) != nil {
			t.Errorf("%s signs", other)
		}
	}
}
