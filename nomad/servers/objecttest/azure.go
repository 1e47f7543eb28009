package objecttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// MakeContainer makes a container of the account.
func (a Azure) MakeContainer(t testing.TB, name string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.URL+"/"+name+"?restype=container", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	req.Header.Set("X-Ms-Date", date)
	req.Header.Set("X-Ms-Version", "2020-10-02")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("PUT" + strings.Repeat("\n", 12) + "x-ms-date:" + date + "\nx-ms-version:2020-10-02\n/" + a.Account + req.URL.Path + "\nrestype:container"))
	req.Header.Set("Authorization", "SharedKey "+a.Account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
		t.Fatalf("container %s: %s: %s", name, resp.Status, said)
	}
}
