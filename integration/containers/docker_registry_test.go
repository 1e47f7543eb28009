package containers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A registry is a fake registry of container images on loopback, with the part of the
// protocol that pulling needs. It has one image, under every name that begins with "team/". A
// private registry requires a password for every request.
type registry struct {
	*httptest.Server
	name, password string
	private        bool

	mu         sync.Mutex
	authorized bool           // a request had credentials
	asked      map[string]int // number of requests for each manifest
	held       map[string]chan struct{}
	blobs      map[string][]byte
	image      []byte // its manifest
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

// newRegistry starts a registry with an image of one layer.
func newRegistry(t *testing.T, private net.Listener, layer []byte, config map[string]any) *registry {
	t.Helper()
	g := &registry{private: private != nil, name: "robot", password: "correct-horse-7f3a", asked: map[string]int{}, held: map[string]chan struct{}{}, blobs: map[string][]byte{}}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(layer); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"architecture": "amd64", "os": "linux", "config": config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}}})
	if err != nil {
		t.Fatal(err)
	}
	blob := func(kind string, content []byte) map[string]any {
		g.blobs[digest(content)] = content
		return map[string]any{"mediaType": kind, "size": len(content), "digest": digest(content)}
	}
	g.image, err = json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType,
		"config": blob("application/vnd.docker.container.image.v1+json", text),
		"layers": []any{blob("application/vnd.docker.image.rootfs.diff.tar.gzip", packed.Bytes())}})
	if err != nil {
		t.Fatal(err)
	}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(g.serve))
	if private != nil {
		if err := g.Listener.Close(); err != nil {
			t.Fatal(err)
		}
		g.Listener = private
	}
	g.Start()
	t.Cleanup(g.Close)
	return g
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// host returns the registry's host and port, with which the names of its images begin.
func (g *registry) host() string { return strings.TrimPrefix(g.URL, "http://") }

// told reports whether a request had credentials.
func (g *registry) told() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.authorized
}

// count returns the number of requests for an image's manifest.
func (g *registry) count(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[name]
}

// holdBack delays all answers about an image until release is called.
func (g *registry) holdBack(name string) (release func()) {
	held := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held[name] = held
	return sync.OnceFunc(func() { close(held) })
}

func (g *registry) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	if r.Header.Get("Authorization") != "" {
		g.mu.Lock()
		g.authorized = true
		g.mu.Unlock()
	}
	if g.private {
		if name, password, _ := r.BasicAuth(); name != g.name || password != g.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
			return
		}
	}
	if path == "" {
		return
	}
	if name, _, found := strings.Cut(path, "/manifests/"); found {
		g.mu.Lock()
		g.asked[name]++
		held := g.held[name]
		g.mu.Unlock()
		if held != nil {
			<-held
		}
		if !strings.HasPrefix(name, "team/") {
			refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
			return
		}
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", digest(g.image))
		w.Header().Set("Content-Length", fmt.Sprint(len(g.image)))
		_, _ = w.Write(g.image) // a client that disconnects requests it again
		return
	}
	_, sum, _ := strings.Cut(path, "/blobs/")
	content, found := g.blobs[sum]
	if !found {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown")
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, message)
}
