package objects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// webStores are buckets of the kinds that use plain HTTP, in a store with prepared answers.
func webStores(t *testing.T, silent time.Duration, answer http.HandlerFunc) map[string]*Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	account, err := AzureByURL(server.URL+"/lab", "sv=1&sig=topsecret")
	if err != nil {
		t.Fatal(err)
	}
	azure, err := OpenAzure(Azure{Container: "b", AzureAccount: account, Patience: Patience{Silent: silent}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Bucket{"GCS": OpenGCS(GCS{Bucket: "b", Endpoint: server.URL, Patience: Patience{Silent: silent}}), "Azure": azure}
	for _, b := range all {
		t.Cleanup(b.Close)
	}
	return all
}

// ofEach makes each call on each kind.
func ofEach(t *testing.T, all map[string]*Bucket, check func(what string, err error)) {
	t.Helper()
	for kind, b := range all {
		for name, call := range calls(b) {
			check(kind+" "+name, call(t.Context()))
		}
	}
}

func TestWebRedirectsAreNotFollowed(t *testing.T) {
	var visited atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited.Add(1) }))
	defer inside.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		all := webStores(t, atLeast, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL+"/latest/meta-data", code)
		})
		ofEach(t, all, func(what string, err error) {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), fmt.Sprintf("redirect (%d)", code)) {
				t.Errorf("%d, %s: %v", code, what, err)
			}
		})
	}
	if n := visited.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// What signs in is in no error, and the words of a store are cut.
func TestWebErrors(t *testing.T) {
	for code, want := range map[int]struct {
		code fault.Code
		text string
	}{
		400: {fault.Invalid, "the object store rejects"}, 401: {fault.Unavailable, "rejects these credentials"},
		403: {fault.Unavailable, "rejects these credentials"}, 404: {fault.NotFound, "there is no "},
		503: {fault.Unavailable, "the object store failed"},
	} {
		var asked atomic.Int32
		all := webStores(t, atLeast, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, strings.Repeat("text ", 1000))
		})
		ofEach(t, all, func(what string, err error) {
			if code == 404 && strings.HasSuffix(what, "Remove") {
				if err != nil {
					t.Errorf("%s of an object that was removed: %v", what, err)
				}
				return
			}
			if !fault.Is(err, want.code) || !strings.Contains(err.Error(), want.text) || len(err.Error()) > 1000 || strings.Contains(err.Error(), "topsecret") {
				t.Errorf("%d, %s: %v", code, what, err)
			}
		})
		tried := int32(10)
		if code == 503 { // which may pass
			tried *= tries
		}
		if n := asked.Load(); n != tried {
			t.Errorf("%d: asked %d times, want %d", code, n, tried)
		}
	}
	all := webStores(t, atLeast, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	ofEach(t, all, func(what string, err error) {
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "does not answer for") || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s of a store that hangs up: %v", what, err)
		}
	})
}

// A failure that passes is not one.
func TestWebCallsAreMadeAgain(t *testing.T) {
	var asked atomic.Int32
	all := webStores(t, atLeast, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%tries != 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, "text")
	})
	for kind, b := range all {
		body, _, err := b.Get(t.Context(), "p/x")
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if text, err := io.ReadAll(body); string(text) != "text" || err != nil {
			t.Errorf("%s: %q, %v", kind, text, err)
		}
		_ = body.Close()
	}
}

func TestWebListingsEnd(t *testing.T) {
	var asked atomic.Int32
	all := webStores(t, atLeast, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/lab") {
			_, _ = fmt.Fprintf(w, "<EnumerationResults><Blobs><Blob><Name>p/1</Name><Properties><Content-Length>1</Content-Length></Properties></Blob></Blobs><NextMarker>t%d</NextMarker></EnumerationResults>", n)
			return
		}
		_, _ = fmt.Fprintf(w, `{"nextPageToken":"t%d","items":[{"name":"p/1","size":"1"}]}`, n)
	})
	for kind, b := range all {
		b.keys, b.pages = 50, 20
		asked.Store(0)
		if _, err := b.List(t.Context(), "p/"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than 20 pages") || asked.Load() > 21 {
			t.Errorf("%s: %d pages, %v", kind, asked.Load(), err)
		}
	}
}

func TestWebAnswersAreCutOff(t *testing.T) {
	const megabytes = 64
	for name, parts := range map[string][2]string{
		"small things of JSON": {`{"items":[`, `{},`}, "small things of XML": {"<EnumerationResults><Blobs>", "<Blob/>"},
		"text": {`{"nextPageToken":"`, "text"}, "spaces": {"", " "},
	} {
		all := webStores(t, atLeast, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, parts[0])
			piece := []byte(strings.Repeat(parts[1], 1+1<<20/len(parts[1])))
			for range megabytes {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})
		for kind, b := range all {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := b.List(t.Context(), "p/")
			runtime.ReadMemStats(&after)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || took > 300 { // with the store's own, three tries each
				t.Errorf("%s, %s: took %d MB, %v", name, kind, took, err)
			}
		}
	}
}

func TestASilentWebStoreIsLeft(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until a body is read, a server does not notice that its client has gone
		<-r.Context().Done()
	}
	all := webStores(t, soon, silent)
	ofEach(t, all, func(what string, err error) {
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "within 300ms") || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", what, err)
		}
	})
	patient := webStores(t, time.Hour, silent)
	for kind, b := range patient { // and whoever does not wait any longer is let go
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		if _, err := b.List(ctx, "p/"); err == nil {
			t.Errorf("%s: no error", kind)
		}
		cancel()
	}
}

// A client with a Google credentials file sends the token that Google issues for the file.
func TestGoogleSignsIn(t *testing.T) {
	var tokens atomic.Int32
	google := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"a-token","token_type":"Bearer","expires_in":3600}`)
	}))
	defer google.Close()
	file := fmt.Sprintf(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","token_uri":%q}`, google.URL)
	read := 0
	in := &googleSignIn{credentials: func(context.Context) ([]byte, error) { read++; return []byte(file), nil }}
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "https://storage.googleapis.com/x", nil)
		if err := in.sign(r); err != nil || r.Header.Get("Authorization") != "Bearer a-token" {
			t.Fatalf("%v, %v", r.Header, err)
		}
	}
	if read != 1 || tokens.Load() != 1 {
		t.Errorf("the file was read %d times, and %d tokens were asked for", read, tokens.Load())
	}
	for text, want := range map[string]string{"x": "not a credentials file", `{"type":"secret-kind"}`: "unsupported type", `{"private_key":"topsecret","type":"service_account"}`: "cannot sign in"} {
		in := &googleSignIn{credentials: func(context.Context) ([]byte, error) { return []byte(text), nil }}
		if err := in.sign(httptest.NewRequest(http.MethodGet, "https://x", nil)); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
