package client_test

import (
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
)

func newServer(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestWhomToTrust(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // refused handshakes are what this test is about
	s.StartTLS()
	defer s.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "master.crt")
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file, expect string
		stored             []byte
		problem            string
	}{
		{name: "nothing said", problem: "; set DET_MASTER_CERT_FILE to the file of its certificate"},
		{name: "a file", file: file},
		{name: "a stored certificate", stored: certificate},
		{name: "noverify", file: client.NoVerify},
		{name: "the right name", file: file, expect: "example.com"},
		{name: "another name", file: file, expect: "master.example.org", problem: "is for another name"},
	} {
		conf, err := client.TLSConfig(c.file, c.stored, c.expect)
		if err != nil {
			t.Fatal(err)
		}
		cl := newClient(t, client.Options{Master: s.URL, TLS: conf, Patience: -1})
		_, err = cl.Me(t.Context())
		if c.problem == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.problem)
		}
	}
}

func TestCertificateFilesThatCannotBe(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.crt")
	if err := os.WriteFile(empty, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, problem := range map[string]string{
		empty: "contains no certificate in PEM",
		filepath.Join(t.TempDir(), "missing.crt"): "no such file",
	} {
		_, err := client.TLSConfig(file, nil, "")
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", file, err, problem)
		}
	}
}

func TestHTTPSWhereThereIsHTTP(t *testing.T) {
	plain := newServer(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(t, client.Options{Master: strings.Replace(plain, "http:", "https:", 1), Patience: -1})
	if _, err := c.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "is not an HTTPS server; use http://") {
		t.Errorf("%v", err)
	}
}
