package server

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/task"
)

// TestRunnersAreFetchedFromAMasterThatAnswers: the job of an attempt names the first of task_urls that answers, and the master's own
// address if none does and tasks look masters up by service_name.
func TestRunnersAreFetchedFromAMasterThatAnswers(t *testing.T) {
	up := func(status int) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/health" {
				t.Errorf("%s was requested", r.URL)
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers, like a stopped process
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	hung := "http://" + ln.Addr().String()
	broken, second, own := up(http.StatusServiceUnavailable), up(http.StatusOK), up(http.StatusOK)
	listen := strings.TrimPrefix(own.URL, "http://")
	for _, c := range []struct {
		name, service, listen string
		urls                  []string
		want                  string
	}{
		{"the second answers", "", listen, []string{hung, broken.URL, second.URL}, second.URL},
		{"none answers", "", listen, []string{broken.URL, hung}, broken.URL},
		{"none answers, but this master itself", "det-master", listen, []string{hung}, own.URL},
		{"the first answers", "det-master", listen, []string{second.URL, own.URL}, second.URL},
		{"an address that nobody can reach", "det-master", "0.0.0.0:8080", []string{hung}, hung},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{TaskURLs: c.urls, ServiceName: c.service, Listen: c.listen}
			f := cfg.newFetchAddress("")
			f.client.Timeout = 100 * time.Millisecond
			f.look(context.Background())
			site := task.Site{TaskURLs: c.urls, Fetch: f.now}
			if got := site.FetchURL(); got != c.want {
				t.Errorf("tasks fetch from %s, want %s", got, c.want)
			}
		})
	}
}

// TestFetchTrustsTheAuthorityOfMasters: an address whose certificate only the configured authority vouches for answers as well.
func TestFetchTrustsTheAuthorityOfMasters(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	cfg := Config{TaskURLs: []string{"https://127.0.0.1:1", s.URL}}
	f := cfg.newFetchAddress(authority)
	if f.look(context.Background()); f.now() != s.URL {
		t.Errorf("tasks fetch from %s", f.now())
	}
}
